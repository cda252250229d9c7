// What operators stand between: names, parentheses, literals, CASE, CAST, subqueries, parameters, and what follows them.
#include <algorithm>

#include "common/error.h"
#include "common/options.h"
#include "spark/connect/common.pb.h"
#include "spark/connect/expressions.pb.h"
#include "spark/connect/relations.pb.h"
#include "sql/sql_parser.h"
#include "thalweg.pb.h"

namespace thalweg::sql {

Node SqlParser::parsePostfix(Node primary, size_t first) {
  for (;;) {
    if (tokens_.acceptSymbol("[")) {
      Node index = parseValueExpression();
      tokens_.expectSymbol("]");
      primary = placed(extractNode(std::move(primary), std::move(index)), first);
    } else if (tokens_.acceptSymbol("::")) {
      primary = placed(castNode(std::move(primary), tokens_.expectType()->simpleString(), false), first);
    } else if (tokens_.peekSymbol(".") && tokens_.peekIdentifier(1)) {
      tokens_.take();
      primary = placed(extractNode(std::move(primary), stringNode(tokens_.expectIdentifier())), first);
    } else if (tokens_.peekWord("collate") && tokens_.peekIdentifier(1)) {
      tokens_.take();
      Node name = stringNode(unparsedIdentifier(tokens_.expectMultipartIdentifier()));
      primary = placed(callNode("collate", nodes(std::move(primary), std::move(name))), first);
    } else if (tokens_.peekSymbol(":") && tokens_.peekIdentifier(1)) {
      throw unsupported("a path into a variant (column:path); use variant_get");
    } else {
      return primary;
    }
  }
}

Node SqlParser::parsePrimary() {
  const Token& token = tokens_.peek();
  switch (token.kind) {
    case TokenKind::Number:
      return parseNumber(false);
    case TokenKind::String:
      return stringNode(tokens_.expectString());
    case TokenKind::Word:
      return parseWordPrimary();
    case TokenKind::QuotedWord:
      return parseNameOrCall();
    default:
      break;
  }
  if (tokens_.peekSymbol("(")) return parseParenthesized();
  if (tokens_.peekSymbol("?") || tokens_.peekSymbol(":")) return parseParameter();
  if (tokens_.acceptSymbol("*")) return parseStarTail({});
  tokens_.fail();
}

Node SqlParser::parseParenthesized() {
  if (peekLambdaList()) return parseLambda(tokens_.expectIdentifierList());
  const size_t first = tokens_.position();
  tokens_.expectSymbol("(");
  Level level(*this, 1);
  if (peekQuery()) {
    Node node = subqueryNode(spark::connect::SubqueryExpression::SUBQUERY_TYPE_SCALAR, {});
    tokens_.expectSymbol(")");
    return placed(std::move(node), first);
  }
  Nodes items = nodes(parseNamedExpression());
  while (tokens_.acceptSymbol(",")) items.push_back(parseNamedExpression());
  tokens_.expectSymbol(")");
  if (items.size() == 1 && !items[0].message->has_alias()) return std::move(items[0]);
  return placed(callNode("struct", std::move(items)), first);
}

bool SqlParser::peekLambdaList() const {
  size_t ahead = 1;
  while (tokens_.peekIdentifier(ahead) && tokens_.peekSymbol(",", ahead + 1)) ahead += 2;
  return tokens_.peekIdentifier(ahead) && tokens_.peekSymbol(")", ahead + 1) && tokens_.peekSymbol("->", ahead + 2);
}

Node SqlParser::parseLambda(std::vector<std::string> parameters) {
  tokens_.expectSymbol("->");
  lambdaParameters_.push_back(parameters);
  Node body = parseExpression();
  lambdaParameters_.pop_back();
  Node node{ExpressionPtr(new spark::connect::Expression()), raisedHeight(body.height)};
  auto* lambda = node.message->mutable_lambda_function();
  lambda->set_allocated_function(body.message.release());
  for (std::string& parameter : parameters) lambda->add_arguments()->add_name_parts(std::move(parameter));
  return node;
}

// Words that end an expression, so that one in its place is an error there and not a column.
bool SqlParser::atReservedWord() const {
  return tokens_.peekAnyWord({"from", "where", "having", "and", "or", "as", "on", "then", "when", "else", "union",
                              "intersect", "except", "is", "in", "between", "like", "select", "using", "join"});
}

Node SqlParser::parseWordPrimary() {
  const bool call = tokens_.peekSymbol("(", 1);
  const bool name = call || tokens_.peekSymbol(".", 1) || tokens_.peekSymbol("->", 1);
  if (!name) {
    const size_t first = tokens_.position();
    if (tokens_.acceptWord("null")) return nullNode();
    if (tokens_.peekWord("true") || tokens_.peekWord("false")) {
      return booleanNode(equalsIgnoreCase(tokens_.take().text, "true"));
    }
    if (auto literal = parseTypedLiteral()) return std::move(*literal);
    if (tokens_.peekAnyWord({"current_date", "current_timestamp", "current_user", "session_user", "current_time",
                             "localtimestamp"})) {
      std::string function = toLowerAscii(tokens_.take().text);
      return placed(callNode(std::move(function), {}), first);
    }
  }
  if (tokens_.peekWord("case") && !tokens_.peekSymbol(".", 1) && !tokens_.peekSymbol(",", 1)) return parseCase();
  if (call) {
    if (auto special = parseSpecialCall()) return std::move(*special);
  }
  if (!tokens_.peekSymbol(".", 1) && atReservedWord()) tokens_.fail();
  return parseNameOrCall();
}

Node SqlParser::parseNameOrCall() {
  const size_t first = tokens_.position();
  std::vector<std::string> parts = {tokens_.expectIdentifier()};
  if (tokens_.peekSymbol("->")) return parseLambda(std::move(parts));
  while (tokens_.peekSymbol(".") && tokens_.peekIdentifier(1)) {
    tokens_.take();
    parts.push_back(tokens_.expectIdentifier());
  }
  if (tokens_.peekSymbol(".") && tokens_.peekSymbol("*", 1)) {
    tokens_.take();
    tokens_.take();
    return parseStarTail(std::move(parts));
  }
  if (tokens_.peekSymbol("(")) return parseCall(std::move(parts));
  raisedHeight(static_cast<int>(parts.size()));
  for (const auto& scope : lambdaParameters_) {
    for (const std::string& parameter : scope) {
      if (!equalsIgnoreCase(parameter, parts[0])) continue;
      Node node{ExpressionPtr(new spark::connect::Expression()), 1};
      for (const std::string& part : parts) {
        node.message->mutable_unresolved_named_lambda_variable()->add_name_parts(part);
      }
      return placed(std::move(node), first);
    }
  }
  return placed(attributeNode(parts), first);
}

Node SqlParser::parseStarTail(std::vector<std::string> target) {
  Node star = starNode(target);
  const bool except = tokens_.peekWord("except") && tokens_.peekSymbol("(", 1) && !peekQuery(2);
  if (!except) return star;
  tokens_.take();
  tokens_.take();
  messages::SqlStarExcept message;
  do {
    message.add_columns(unparsedIdentifier(tokens_.expectMultipartIdentifier()));
  } while (tokens_.acceptSymbol(","));
  tokens_.expectSymbol(")");
  message.set_allocated_star(star.message.release());
  Node node{ExpressionPtr(new spark::connect::Expression()), 2};
  node.message->mutable_extension()->PackFrom(message);
  return node;
}

// CASE [x] WHEN a THEN b … [ELSE c] END as when(a, b, …, c).
Node SqlParser::parseCase() {
  const size_t first = tokens_.position();
  tokens_.expectWord("case");
  Level level(*this, 1);
  std::optional<Node> subject;
  if (!tokens_.peekWord("when")) subject = parseExpression();
  Nodes arguments;
  while (tokens_.acceptWord("when")) {
    Node condition = parseExpression();
    if (subject) {
      Node copy = copied(*subject);
      condition = callNode("==", nodes(std::move(copy), std::move(condition)));
    }
    tokens_.expectWord("then");
    arguments.push_back(std::move(condition));
    arguments.push_back(parseExpression());
  }
  if (arguments.empty()) tokens_.fail();
  if (tokens_.acceptWord("else")) arguments.push_back(parseExpression());
  tokens_.expectWord("end");
  return placed(callNode("when", std::move(arguments)), first);
}

Node SqlParser::parseCast(bool isTry) {
  tokens_.expectSymbol("(");
  Node child = parseExpression();
  tokens_.expectWord("as");
  DataTypePtr type = tokens_.expectType();
  tokens_.expectSymbol(")");
  return castNode(std::move(child), type->simpleString(), isTry);
}

Node SqlParser::parseParameter() {
  const size_t first = tokens_.position();
  if (!parametersRefusedIn_.empty()) {
    throw Error("UNSUPPORTED_FEATURE.PARAMETER_MARKER_IN_UNEXPECTED_STATEMENT",
                "Parameters are not taken in " + parametersRefusedIn_ + ", whose text is kept: write the value.",
                {{"statement", parametersRefusedIn_}});
  }
  const spark::connect::Expression* value = nullptr;
  std::string name;
  if (tokens_.acceptSymbol("?")) {
    name = "_" + std::to_string(nextPosition_);
    if (nextPosition_ < options_.positionalArguments.size()) value = options_.positionalArguments[nextPosition_];
    ++nextPosition_;
  } else {
    tokens_.expectSymbol(":");
    name = tokens_.expectIdentifier();
    const auto found = options_.namedArguments.find(name);
    if (found != options_.namedArguments.end()) value = found->second;
  }
  if (value) return copied(copyNode(*value));
  const auto [start, stop] = tokens_.rangeSince(first);
  throw Error("UNBOUND_SQL_PARAMETER",
              "The parameter " + name + " of the SQL text has no value: give it in the args of sql().",
              {{"name", name}})
      .withQueryContext({tokens_.textSince(first), static_cast<int>(start), static_cast<int>(stop) - 1});
}

// The query at the cursor as a reference of the query around it.
Node SqlParser::subqueryNode(int type, Nodes inValues) {
  if (!references_) throw unsupported("a subquery in an expression given without its query");
  std::vector<RelationPtr>* references = references_;
  const int64_t planId = nextPlanId_++;
  Plan plan = parseQuery();
  plan.message->mutable_common()->set_plan_id(planId);
  Node node{ExpressionPtr(new spark::connect::Expression()), raisedHeight(inValues)};
  auto* subquery = node.message->mutable_subquery_expression();
  subquery->set_plan_id(planId);
  subquery->set_subquery_type(static_cast<spark::connect::SubqueryExpression::SubqueryType>(type));
  for (Node& value : inValues) subquery->mutable_in_subquery_values()->AddAllocated(value.message.release());
  references->push_back(std::move(plan.message));
  referencesHeight_ = std::max(referencesHeight_, plan.height);
  return node;
}

}  // namespace thalweg::sql
