// FROM: tables, subqueries, table functions, joins, LATERAL, time travel.
#include <algorithm>

#include "common/error.h"
#include "common/options.h"
#include "spark/connect/common.pb.h"
#include "spark/connect/expressions.pb.h"
#include "spark/connect/relations.pb.h"
#include "sql/sql_parser.h"
#include "thalweg.pb.h"

namespace thalweg::sql {
namespace {

namespace sc = spark::connect;

// An inner or outer join as LateralJoin when its right side may see the left's columns.
Plan joinPlan(Plan left, Plan right, bool lateral, sc::Join::JoinType type) {
  Plan plan = newPlan(raisedHeight(std::max(left.height, right.height)));
  if (lateral) {
    auto* join = plan.message->mutable_lateral_join();
    join->set_allocated_left(left.message.release());
    join->set_allocated_right(right.message.release());
    join->set_join_type(type);
  } else {
    auto* join = plan.message->mutable_join();
    join->set_allocated_left(left.message.release());
    join->set_allocated_right(right.message.release());
    join->set_join_type(type);
  }
  return plan;
}

}  // namespace

Plan SqlParser::parseFrom() {
  Plan plan = parseRelation();
  while (tokens_.acceptSymbol(",")) {
    const bool lateral = tokens_.peekWord("lateral") && !tokens_.peekWord("view", 1);
    if (lateral) tokens_.take();
    Plan right = lateral ? parseRelationPrimary() : parseRelation();
    plan = joinPlan(std::move(plan), std::move(right), lateral,
                    lateral ? sc::Join::JOIN_TYPE_INNER : sc::Join::JOIN_TYPE_CROSS);
    if (lateral) plan = parseJoins(std::move(plan));
  }
  while (tokens_.peekWords({"lateral", "view"})) plan = parseLateralView(std::move(plan));
  refuseUnbuilt();
  return plan;
}

void SqlParser::refuseUnbuilt() const {
  if (tokens_.peekAnyWord({"pivot", "unpivot"})) {
    throw unsupported(tokens_.peekWord("pivot") ? "PIVOT in SQL" : "UNPIVOT in SQL");
  }
}

Plan SqlParser::parseRelation() {
  Level level(*this, 1);
  return parseJoins(parseRelationPrimary());
}

bool SqlParser::parseJoinType(int* type) {
  const size_t start = tokens_.position();
  *type = sc::Join::JOIN_TYPE_INNER;
  if (tokens_.acceptWord("cross")) {
    *type = sc::Join::JOIN_TYPE_CROSS;
  } else if (tokens_.acceptWord("inner")) {
  } else if (tokens_.peekAnyWord({"left", "right", "full"})) {
    const bool left = tokens_.peekWord("left");
    *type = left                          ? sc::Join::JOIN_TYPE_LEFT_OUTER
            : tokens_.peekWord("right")   ? sc::Join::JOIN_TYPE_RIGHT_OUTER
                                          : sc::Join::JOIN_TYPE_FULL_OUTER;
    tokens_.take();
    if (left && tokens_.acceptWord("semi")) *type = sc::Join::JOIN_TYPE_LEFT_SEMI;
    else if (left && tokens_.acceptWord("anti")) *type = sc::Join::JOIN_TYPE_LEFT_ANTI;
    else tokens_.acceptWord("outer");
  } else if (tokens_.acceptWord("semi")) {
    *type = sc::Join::JOIN_TYPE_LEFT_SEMI;
  } else if (tokens_.acceptWord("anti")) {
    *type = sc::Join::JOIN_TYPE_LEFT_ANTI;
  }
  if (tokens_.acceptWord("join")) return true;
  tokens_.rewind(start);
  return false;
}

Plan SqlParser::parseJoins(Plan left) {
  for (;;) {
    const bool natural = tokens_.acceptWord("natural");
    int type = 0;
    if (!parseJoinType(&type)) {
      if (natural) tokens_.fail();
      return left;
    }
    left = parseJoin(std::move(left), type, natural);
  }
}

Plan SqlParser::parseJoin(Plan left, int type, bool natural) {
  const bool lateral = tokens_.acceptWord("lateral");
  Plan plan = joinPlan(std::move(left), parseRelationPrimary(), lateral, static_cast<sc::Join::JoinType>(type));
  if (natural) {
    messages::SqlNaturalJoin message;
    if (lateral) throw unsupported("NATURAL JOIN LATERAL");
    message.set_allocated_join(plan.message->release_join());
    plan.message->mutable_extension()->PackFrom(message);
    return plan;
  }
  if (tokens_.acceptWord("on")) {
    Node condition = parseExpression();
    plan.height = std::max(plan.height, raisedHeight(condition.height));
    if (lateral) plan.message->mutable_lateral_join()->set_allocated_join_condition(condition.message.release());
    else plan.message->mutable_join()->set_allocated_join_condition(condition.message.release());
  } else if (tokens_.peekWord("using") && tokens_.peekSymbol("(", 1)) {
    tokens_.take();
    if (lateral) throw unsupported("JOIN LATERAL with USING");
    for (std::string& column : tokens_.expectIdentifierList()) {
      plan.message->mutable_join()->add_using_columns(std::move(column));
    }
  }
  return plan;
}

// LATERAL VIEW [OUTER] f(…) alias [AS a, b] as a lateral join with the table function.
Plan SqlParser::parseLateralView(Plan input) {
  tokens_.acceptWords({"lateral", "view"});
  const bool outer = tokens_.acceptWord("outer");
  const std::vector<std::string> name = parseName();
  tokens_.expectSymbol("(");
  Nodes arguments = parseArguments();
  Plan function = newPlan(raisedHeight(arguments));
  auto* call = function.message->mutable_unresolved_table_valued_function();
  call->set_function_name(unparsedIdentifier(name));
  for (Node& argument : arguments) call->mutable_arguments()->AddAllocated(argument.message.release());
  std::string alias;
  if (!tokens_.peekWord("as") && atTableAlias()) alias = tokens_.expectIdentifier();
  if (tokens_.acceptWord("as")) {
    Plan named = newPlan(raisedHeight(function.height));
    named.message->mutable_to_df()->set_allocated_input(function.message.release());
    do {
      named.message->mutable_to_df()->add_column_names(tokens_.expectIdentifier());
    } while (tokens_.peekSymbol(",") && tokens_.peekIdentifier(1) && tokens_.acceptSymbol(","));
    function = std::move(named);
  }
  if (!alias.empty()) {
    Plan aliased = newPlan(raisedHeight(function.height));
    aliased.message->mutable_subquery_alias()->set_allocated_input(function.message.release());
    aliased.message->mutable_subquery_alias()->set_alias(alias);
    function = std::move(aliased);
  }
  return joinPlan(std::move(input), std::move(function), true,
                  outer ? sc::Join::JOIN_TYPE_LEFT_OUTER : sc::Join::JOIN_TYPE_INNER);
}

Plan SqlParser::parseRelationPrimary() {
  if (tokens_.peekSymbol("(")) {
    Level level(*this, 4);
    const bool query = peekQuery(1);
    tokens_.take();
    Plan plan = query ? parseQuery() : parseRelation();
    if (!query) {
      // (a, b) is a join as in the FROM clause itself.
      while (tokens_.acceptSymbol(",")) {
        plan = joinPlan(std::move(plan), parseRelation(), false, sc::Join::JOIN_TYPE_CROSS);
      }
    }
    tokens_.expectSymbol(")");
    return parseTableAlias(std::move(plan));
  }
  if (tokens_.peekWord("values") && !tokens_.peekSymbol(".", 1) && tokens_.peek(1).kind != TokenKind::End) {
    tokens_.take();
    return parseTableAlias(parseValues());
  }
  if (tokens_.peekWord("stream") && (tokens_.peekSymbol("(", 1) || tokens_.peekIdentifier(1)) &&
      !tokens_.peekWord("as", 1)) {
    tokens_.take();
    const bool parenthesis = tokens_.acceptSymbol("(");
    Plan plan = parseNamedTable();
    if (parenthesis) tokens_.expectSymbol(")");
    plan.message->mutable_read()->set_is_streaming(true);
    return parseTableAlias(std::move(plan));
  }
  if (tokens_.peek().kind == TokenKind::Word && atReservedWord()) tokens_.fail();
  Plan plan = parseNamedTable();
  return parseTableAlias(std::move(plan));
}

// A name with time travel, or a table function's call.
Plan SqlParser::parseNamedTable() {
  const Name name = parseName();
  if (tokens_.peekSymbol("(")) return parseTableFunction(name);
  Plan plan = newPlan(1);
  auto* table = plan.message->mutable_read()->mutable_named_table();
  table->set_unparsed_identifier(unparsedIdentifier(name));
  if (peekTimeTravel()) {
    const TimeTravel travel = parseTimeTravel();
    auto& options = *table->mutable_options();
    if (travel.version) options["versionAsOf"] = *travel.version;
    if (travel.timestamp) options["timestampAsOf"] = *travel.timestamp;
    if (travel.timestampExpression) options["timestampAsOfExpression"] = *travel.timestampExpression;
  }
  return plan;
}

Plan SqlParser::parseTableFunction(std::vector<std::string> name) {
  tokens_.expectSymbol("(");
  Nodes arguments = parseArguments();
  Plan plan = newPlan(raisedHeight(arguments));
  auto* call = plan.message->mutable_unresolved_table_valued_function();
  call->set_function_name(unparsedIdentifier(name));
  for (Node& argument : arguments) call->mutable_arguments()->AddAllocated(argument.message.release());
  return plan;
}

bool SqlParser::peekTimeTravel() const {
  const size_t ahead = tokens_.peekWord("for") ? 1 : 0;
  return tokens_.peekAnyWord({"version", "timestamp", "system_version", "system_time"}, ahead) &&
         tokens_.peekWord("as", ahead + 1) && tokens_.peekWord("of", ahead + 2);
}

std::string SqlParser::parseVersionNumber() {
  if (tokens_.peek().kind != TokenKind::Number) tokens_.fail();
  return std::to_string(tokens_.expectInteger());
}

TimeTravel SqlParser::parseTimeTravel() {
  TimeTravel travel;
  tokens_.acceptWord("for");
  const bool version = tokens_.peekAnyWord({"version", "system_version"});
  if (!version && !tokens_.peekAnyWord({"timestamp", "system_time"})) tokens_.fail();
  tokens_.take();
  tokens_.expectWord("as");
  tokens_.expectWord("of");
  if (version) {
    travel.version = tokens_.peek().kind == TokenKind::String ? tokens_.expectString()
                                                             : parseVersionNumber();
    return travel;
  }
  const size_t first = tokens_.position();
  if (tokens_.peek().kind == TokenKind::String) {
    travel.timestamp = tokens_.expectString();
  } else {
    parseValueExpression();
    travel.timestampExpression = tokens_.textSince(first);
  }
  return travel;
}

bool SqlParser::atTableAlias() const {
  if (tokens_.peek().kind == TokenKind::QuotedWord) return true;
  if (tokens_.peek().kind != TokenKind::Word) return false;
  return !tokens_.peekAnyWord({"where",     "group",  "having", "order",   "sort",   "cluster", "distribute", "limit",
                               "offset",    "union",  "minus",  "except",  "intersect", "window", "lateral",  "on",
                               "using",     "join",   "inner",  "left",    "right",  "full",    "cross",      "semi",
                               "anti",      "natural", "pivot", "unpivot", "set",    "when",    "select",     "tablesample",
                               "as",        "from",   "values"});
}

std::string SqlParser::parseOptionalTableAlias() {
  if (tokens_.acceptWord("as")) return tokens_.expectIdentifier();
  return atTableAlias() ? tokens_.expectIdentifier() : "";
}

Plan SqlParser::parseTableAlias(Plan input) {
  if (tokens_.peekWord("tablesample")) throw unsupported("TABLESAMPLE");
  refuseUnbuilt();
  const std::string alias = parseOptionalTableAlias();
  if (alias.empty()) return input;
  if (tokens_.peekSymbol("(")) {
    Plan named = newPlan(raisedHeight(input.height));
    named.message->mutable_to_df()->set_allocated_input(input.message.release());
    for (std::string& column : tokens_.expectIdentifierList()) {
      named.message->mutable_to_df()->add_column_names(std::move(column));
    }
    input = std::move(named);
  }
  Plan plan = newPlan(raisedHeight(input.height));
  plan.message->mutable_subquery_alias()->set_allocated_input(input.message.release());
  plan.message->mutable_subquery_alias()->set_alias(alias);
  return plan;
}

// IDENTIFIER('a.b') names what its text names; a parameter may give the text.
Name SqlParser::parseName() {
  if (!tokens_.peekWord("identifier") || !tokens_.peekSymbol("(", 1)) return tokens_.expectMultipartIdentifier();
  tokens_.take();
  tokens_.take();
  const Node text = parseExpression();
  tokens_.expectSymbol(")");
  if (!text.message->literal().has_string()) throw unsupported("IDENTIFIER() of what is no string literal or parameter");
  return parseMultipartIdentifier(text.message->literal().string());
}

}  // namespace thalweg::sql
