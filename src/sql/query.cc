// Queries: WITH, set operations, ORDER BY and its like, LIMIT, VALUES.
#include <algorithm>

#include "common/error.h"
#include "common/options.h"
#include "spark/connect/common.pb.h"
#include "spark/connect/expressions.pb.h"
#include "spark/connect/relations.pb.h"
#include "sql/restored.h"
#include "sql/sql_parser.h"
#include "thalweg.pb.h"

namespace thalweg::sql {
namespace {

namespace sc = spark::connect;

// A query's recursion goes through some ten functions; its cost in levels keeps the stack as bounded as an expression's.
constexpr int kQueryCost = 8;

}  // namespace

// A parenthesized text is a query when, behind its innermost '(', it begins as one and goes on as one at each level.
bool SqlParser::peekQuery(size_t ahead) const {
  const size_t first = tokens_.position() + ahead;
  size_t inner = ahead;
  while (tokens_.peekSymbol("(", inner)) ++inner;
  const bool begins = tokens_.peekWord("select", inner) ||
                      (tokens_.peekWord("with", inner) && tokens_.peekIdentifier(inner + 1)) ||
                      (tokens_.peekWord("values", inner) &&
                       (tokens_.peekSymbol("(", inner + 1) || tokens_.peek(inner + 1).kind == TokenKind::Number ||
                        tokens_.peek(inner + 1).kind == TokenKind::String)) ||
                      (tokens_.peekAnyWord({"from", "table"}, inner) && tokens_.peekIdentifier(inner + 1));
  if (!begins) return false;
  for (size_t open = tokens_.position() + inner; open > first;) {
    const Token& behind = tokens_.tokenAt(tokens_.closingParenthesis(--open) + 1);
    if (behind.kind == TokenKind::End || behind.text == ")" || behind.text == ";") continue;
    if (behind.kind != TokenKind::Word) return false;
    bool goesOn = false;
    for (std::string_view word : {"union", "intersect", "except", "minus", "order", "sort", "limit", "offset", "cluster",
                                  "distribute"}) {
      goesOn = goesOn || equalsIgnoreCase(behind.text, word);
    }
    if (!goesOn) return false;
  }
  return true;
}

Plan SqlParser::withReferences(Plan root, std::vector<RelationPtr> references, int height) {
  if (references.empty()) return root;
  Plan plan = newPlan(raisedHeight(std::max(root.height, height)));
  auto* with = plan.message->mutable_with_relations();
  with->set_allocated_root(root.message.release());
  for (RelationPtr& reference : references) with->mutable_references()->AddAllocated(reference.release());
  return plan;
}

Plan SqlParser::parseQuery() {
  Level level(*this, kQueryCost);
  std::vector<RelationPtr> references;
  Restored<std::vector<RelationPtr>*> scope(references_, &references);
  Restored<int> height(referencesHeight_, 0);
  if (tokens_.peekWord("with")) parseWith();
  Plan plan = parseQueryOrganization(parseQueryTerm(1));
  return withReferences(std::move(plan), std::move(references), referencesHeight_);
}

void SqlParser::parseWith() {
  tokens_.expectWord("with");
  if (tokens_.peekWord("recursive") && tokens_.peekIdentifier(1)) throw unsupported("WITH RECURSIVE");
  do {
    const std::string name = tokens_.expectIdentifier();
    std::vector<std::string> columns;
    if (tokens_.peekSymbol("(")) columns = tokens_.expectIdentifierList();
    tokens_.acceptWord("as");
    tokens_.expectSymbol("(");
    Plan plan = parseQuery();
    tokens_.expectSymbol(")");
    if (!columns.empty()) {
      Plan named = newPlan(raisedHeight(plan.height));
      named.message->mutable_to_df()->set_allocated_input(plan.message.release());
      for (std::string& column : columns) named.message->mutable_to_df()->add_column_names(std::move(column));
      plan = std::move(named);
    }
    Plan reference = newPlan(raisedHeight(plan.height));
    reference.message->mutable_subquery_alias()->set_allocated_input(plan.message.release());
    reference.message->mutable_subquery_alias()->set_alias(name);
    referencesHeight_ = std::max(referencesHeight_, reference.height);
    references_->push_back(std::move(reference.message));
  } while (tokens_.acceptSymbol(","));
}

bool SqlParser::atSetOperator() const { return tokens_.peekAnyWord({"union", "intersect", "except", "minus"}); }

// INTERSECT (2) binds tighter than UNION and EXCEPT (1).
Plan SqlParser::parseQueryTerm(int minimumPrecedence) {
  Plan left = parseQueryPrimary();
  while (atSetOperator()) {
    const bool intersect = tokens_.peekWord("intersect");
    if ((intersect ? 2 : 1) < minimumPrecedence) break;
    const bool isUnion = tokens_.peekWord("union");
    tokens_.take();
    const bool all = tokens_.acceptWord("all");
    if (!all) tokens_.acceptWord("distinct");
    Plan right = parseQueryTerm(intersect ? 3 : 2);
    Plan plan = newPlan(raisedHeight(std::max(left.height, right.height)));
    auto* operation = plan.message->mutable_set_op();
    operation->set_set_op_type(intersect ? sc::SetOperation::SET_OP_TYPE_INTERSECT
                               : isUnion ? sc::SetOperation::SET_OP_TYPE_UNION
                                         : sc::SetOperation::SET_OP_TYPE_EXCEPT);
    operation->set_is_all(all);
    operation->set_allocated_left_input(left.message.release());
    operation->set_allocated_right_input(right.message.release());
    left = std::move(plan);
  }
  if (tokens_.peekSymbol("|>")) throw unsupported("SQL pipe syntax (|>)");
  return left;
}

Plan SqlParser::parseQueryPrimary() {
  if (tokens_.peekSymbol("(")) {
    tokens_.take();
    Plan plan = parseQuery();
    tokens_.expectSymbol(")");
    return plan;
  }
  if (tokens_.peekWord("select")) return parseSelect();
  if (tokens_.acceptWord("values")) return parseTableAlias(parseValues());
  if (tokens_.peekWord("table") && tokens_.peekIdentifier(1)) {
    tokens_.take();
    return parseNamedTable();
  }
  if (tokens_.peekWord("from")) throw unsupported("a query that begins with FROM");
  tokens_.fail();
}

Plan SqlParser::parseQueryOrganization(Plan input) {
  const auto wrap = [&input](int expressionHeight) { return newPlan(raisedHeight(std::max(input.height, expressionHeight))); };
  const auto sort = [&](bool global) {
    std::vector<SortItem> items = parseSortItems();
    int height = 0;
    for (const SortItem& item : items) height = std::max(height, item.child.height);
    Plan plan = wrap(height);
    auto* message = plan.message->mutable_sort();
    message->set_is_global(global);
    for (SortItem& item : items) fillSortOrder(std::move(item), message->add_order());
    message->set_allocated_input(input.message.release());
    input = std::move(plan);
  };
  const bool cluster = tokens_.peekWords({"cluster", "by"});
  if (cluster || tokens_.peekWords({"distribute", "by"})) {
    tokens_.take();
    tokens_.take();
    const size_t keysAt = tokens_.position();
    Nodes keys;
    do {
      keys.push_back(parseExpression());
    } while (tokens_.acceptSymbol(","));
    Plan plan = newPlan(raisedHeight(keys, input.height));
    auto* repartition = plan.message->mutable_repartition_by_expression();
    for (Node& key : keys) repartition->mutable_partition_exprs()->AddAllocated(key.message.release());
    repartition->set_allocated_input(input.message.release());
    input = std::move(plan);
    if (cluster) {
      tokens_.rewind(keysAt);
      sort(false);
    }
  }
  if (tokens_.acceptWords({"order", "by"})) sort(true);
  else if (tokens_.acceptWords({"sort", "by"})) sort(false);
  if (tokens_.peekWord("window") && tokens_.peekWord("as", 2)) parseWindowClause();
  std::optional<int64_t> limit;
  if (tokens_.acceptWord("limit") && !tokens_.acceptWord("all")) limit = parseLimitCount("LIMIT");
  if (tokens_.acceptWord("offset")) {
    const int64_t offset = parseLimitCount("OFFSET");
    Plan plan = wrap(0);
    plan.message->mutable_offset()->set_offset(static_cast<int>(offset));
    plan.message->mutable_offset()->set_allocated_input(input.message.release());
    input = std::move(plan);
  }
  if (limit) {
    Plan plan = wrap(0);
    plan.message->mutable_limit()->set_limit(static_cast<int>(*limit));
    plan.message->mutable_limit()->set_allocated_input(input.message.release());
    input = std::move(plan);
  }
  return input;
}

namespace {

// The value of an integer expression of literals, + - *: LIMIT 1 + 1.
std::optional<int64_t> constantValue(const sc::Expression& expression) {
  if (expression.has_literal()) {
    const auto& literal = expression.literal();
    if (literal.has_integer()) return literal.integer();
    if (literal.has_long_()) return literal.long_();
    if (literal.has_short_()) return literal.short_();
    if (literal.has_byte()) return literal.byte();
    return std::nullopt;
  }
  const auto& call = expression.unresolved_function();
  if (call.arguments_size() != 2) return std::nullopt;
  const auto left = constantValue(call.arguments(0)), right = constantValue(call.arguments(1));
  int64_t value = 0;
  if (!left || !right) return std::nullopt;
  const std::string& name = call.function_name();
  const bool overflow = name == "+"   ? __builtin_add_overflow(*left, *right, &value)
                        : name == "-" ? __builtin_sub_overflow(*left, *right, &value)
                        : name == "*" ? __builtin_mul_overflow(*left, *right, &value)
                                      : true;
  return overflow ? std::nullopt : std::optional(value);
}

}  // namespace

int64_t SqlParser::parseLimitCount(const char* clause) {
  const size_t first = tokens_.position();
  Node count = parseExpression();
  const auto value = constantValue(*count.message);
  if (!value) throw unsupported(std::string(clause) + " with " + tokens_.textSince(first) + ", which is no constant integer,");
  if (*value < 0 || *value > INT32_MAX) {
    throw Error("INVALID_LIMIT_LIKE_EXPRESSION.IS_NEGATIVE",
                std::string(clause) + " takes a number from 0 to 2147483647, not " + std::to_string(*value) + ".",
                {{"name", clause}, {"expr", "\"" + tokens_.textSince(first) + "\""}, {"v", std::to_string(*value)}});
  }
  return *value;
}

std::vector<SortItem> SqlParser::parseSortItems() {
  std::vector<SortItem> items;
  do {
    SortItem item;
    item.child = parseExpression();
    item.descending = tokens_.acceptWord("desc");
    if (!item.descending) tokens_.acceptWord("asc");
    item.nullsFirst = !item.descending;
    if (tokens_.acceptWords({"nulls", "first"})) item.nullsFirst = true;
    else if (tokens_.acceptWords({"nulls", "last"})) item.nullsFirst = false;
    items.push_back(std::move(item));
  } while (tokens_.acceptSymbol(","));
  return items;
}

Plan SqlParser::parseValues() {
  messages::SqlValues values;
  int height = 0;
  do {
    auto* row = values.add_rows();
    const auto add = [&](Node node) {
      height = std::max(height, node.height);
      row->mutable_values()->AddAllocated(node.message.release());
    };
    const size_t first = tokens_.position();
    // ("(1, 2)" is a row, "(1) + 1" an expression.)
    const Token& behind = tokens_.tokenAt(tokens_.closingParenthesis(first) + 1);
    const bool parenthesized = tokens_.peekSymbol("(") && !peekQuery(1) &&
                               (behind.kind != TokenKind::Symbol || behind.text == "," || behind.text == ")" ||
                                behind.text == ";" || behind.text == "|>");
    if (parenthesized) {
      tokens_.take();
      do {
        add(parseExpressionOrDefault());
      } while (tokens_.acceptSymbol(","));
      tokens_.expectSymbol(")");
    } else {
      add(parseExpressionOrDefault());
    }
    const int expected = values.rows(0).values_size();
    if (row->values_size() != expected) {
      throw Error("INVALID_INLINE_TABLE.NUM_COLUMNS_MISMATCH",
                  "VALUES has rows of different lengths: row " + std::to_string(values.rows_size()) + " has " +
                      std::to_string(row->values_size()) + " values, the first " + std::to_string(expected) + ".",
                  {{"expectedNumCols", std::to_string(expected)},
                   {"actualNumCols", std::to_string(row->values_size())},
                   {"rowIndex", std::to_string(values.rows_size() - 1)}});
    }
  } while (tokens_.acceptSymbol(","));
  Plan plan = newPlan(raisedHeight(height));
  plan.message->mutable_extension()->PackFrom(values);
  return plan;
}

}  // namespace thalweg::sql
