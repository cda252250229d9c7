// Queries: WITH, set operations, SELECT with its clauses, VALUES.
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

// A query's recursion goes through some ten functions; its cost in levels keeps the stack as bounded as an expression's.
constexpr int kQueryCost = 8;

Plan newPlan(int height) { return {RelationPtr(new sc::Relation()), height}; }

// A setting that a query changes for its own text and gives back, also when an error passes.
template <typename T>
class Restored {
 public:
  Restored(T& place, T value) : place_(place), saved_(std::exchange(place, std::move(value))) {}
  ~Restored() { place_ = std::move(saved_); }
  Restored(const Restored&) = delete;
  Restored& operator=(const Restored&) = delete;

 private:
  T& place_;
  T saved_;
};

}  // namespace

struct SqlParser::Grouping {
  sc::Aggregate::GroupType type = sc::Aggregate::GROUP_TYPE_UNSPECIFIED;
  Nodes keys = {};
  std::vector<Nodes> sets = {};
  bool all = false;
};

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

Node SqlParser::parseNamedExpression() {
  const size_t first = tokens_.position();
  Node node = parseExpression();
  const bool as = tokens_.acceptWord("as");
  if (as && tokens_.peekSymbol("(")) return placed(aliasNode(std::move(node), tokens_.expectIdentifierList()), first);
  const bool endOfItem = tokens_.peekAnyWord(
      {"from",   "where", "group",  "having",    "order",  "sort", "cluster", "distribute", "limit", "offset", "union",
       "minus",  "except", "intersect", "window", "into", "lateral", "using",   "then",       "ignore", "respect"});
  const bool implicit = tokens_.peek().kind == TokenKind::QuotedWord ||
                        (tokens_.peek().kind == TokenKind::Word && !endOfItem);
  if (!as && !implicit) return node;
  return placed(aliasNode(std::move(node), {tokens_.expectIdentifier()}), first);
}

Nodes SqlParser::parseSelectList() {
  Nodes items;
  do {
    items.push_back(parseNamedExpression());
  } while (tokens_.acceptSymbol(","));
  return items;
}

Plan SqlParser::parseSelect() {
  Restored<size_t> start(selectStart_, tokens_.position());
  Restored<std::optional<std::vector<WindowDefinition>>> windows(windowDefinitions_, std::nullopt);
  std::vector<Hint> hints;
  Plan plan = parseSelectBody(&hints);
  // The first one lies outermost.
  for (auto hint = hints.rbegin(); hint != hints.rend(); ++hint) {
    Plan hinted = newPlan(raisedHeight(hint->parameters, plan.height));
    auto* message = hinted.message->mutable_hint();
    message->set_allocated_input(plan.message.release());
    message->set_name(std::move(hint->name));
    for (Node& parameter : hint->parameters)
      message->mutable_parameters()->AddAllocated(parameter.message.release());
    plan = std::move(hinted);
  }
  return plan;
}

void SqlParser::parseHints(std::vector<Hint>* hints) {
  while (tokens_.peek().kind == TokenKind::Hint) {
    std::string_view text = tokens_.take().text;
    text.remove_prefix(3);
    text.remove_suffix(2);
    SqlParser inner(text, options_);
    while (!inner.tokens_.atEnd()) {
      Hint& hint = hints->emplace_back();
      hint.name = inner.tokens_.expectIdentifier();
      if (inner.tokens_.acceptSymbol("(") && !inner.tokens_.acceptSymbol(")")) {
        do {
          hint.parameters.push_back(inner.parseExpression());
        } while (inner.tokens_.acceptSymbol(","));
        inner.tokens_.expectSymbol(")");
      }
      inner.tokens_.acceptSymbol(",");
    }
  }
}

Plan SqlParser::parseSelectBody(std::vector<Hint>* hints) {
  tokens_.expectWord("select");
  parseHints(hints);
  const bool distinct = tokens_.peekWord("distinct") && !tokens_.peekSymbol(",", 1);
  if (distinct || (tokens_.peekWord("all") && !tokens_.peekSymbol(",", 1))) tokens_.take();
  Nodes list = parseSelectList();
  Plan input{nullptr, 0};
  if (tokens_.acceptWord("from")) input = parseFrom();
  const auto filter = [&](Node condition) {
    Plan plan = newPlan(raisedHeight(std::max(input.height, condition.height)));
    if (input.message) plan.message->mutable_filter()->set_allocated_input(input.message.release());
    else plan.message->mutable_filter()->mutable_input()->mutable_project();
    plan.message->mutable_filter()->set_allocated_condition(condition.message.release());
    input = std::move(plan);
  };
  if (tokens_.acceptWord("where")) filter(parseExpression());
  Grouping grouping;
  if (tokens_.acceptWords({"group", "by"})) parseGroupBy(&grouping);
  std::optional<Node> having;
  if (tokens_.acceptWord("having")) having = parseExpression();
  if (tokens_.peekWord("window") && tokens_.peekWord("as", 2)) parseWindowClause();

  Plan plan = newPlan(raisedHeight(list, input.height));
  if (grouping.type == sc::Aggregate::GROUP_TYPE_UNSPECIFIED && !having) {
    auto* project = plan.message->mutable_project();
    if (input.message) project->set_allocated_input(input.message.release());
    for (Node& item : list) project->mutable_expressions()->AddAllocated(item.message.release());
  } else {
    messages::SqlAggregate aggregate;
    int height = raisedHeight(grouping.keys, having ? having->height : 0);
    if (input.message) aggregate.set_allocated_input(input.message.release());
    aggregate.set_group_type(grouping.type);
    aggregate.set_group_by_all(grouping.all);
    for (Node& key : grouping.keys) aggregate.mutable_grouping()->AddAllocated(key.message.release());
    for (Nodes& set : grouping.sets) {
      auto* message = aggregate.add_grouping_sets();
      height = std::max(height, raisedHeight(set));
      for (Node& key : set) message->mutable_grouping_set()->AddAllocated(key.message.release());
    }
    for (Node& item : list) aggregate.mutable_select()->AddAllocated(item.message.release());
    if (having) aggregate.set_allocated_having(having->message.release());
    plan.height = std::max(plan.height, height);
    plan.message->mutable_extension()->PackFrom(aggregate);
  }
  if (!distinct) return plan;
  messages::SqlDistinct distinctRows;
  distinctRows.set_allocated_input(plan.message.release());
  Plan result = newPlan(raisedHeight(plan.height));
  result.message->mutable_extension()->PackFrom(distinctRows);
  return result;
}

namespace {

// What one item of GROUP BY groups by: several lists of its keys, by position.
struct GroupingItem {
  Nodes keys;
  std::vector<std::vector<size_t>> sets;
  bool hasLists = false;  // of keys in a ROLLUP or CUBE: only sets can say them
};

constexpr size_t kMostGroupingSets = 4096;

// Each list of keys with each of another item's.
std::vector<std::vector<const Node*>> crossed(const std::vector<std::vector<const Node*>>& lists, const GroupingItem& item) {
  std::vector<std::vector<const Node*>> all;
  if (lists.size() * item.sets.size() > kMostGroupingSets)
    throw unsupported("More than " + std::to_string(kMostGroupingSets) + " grouping sets");
  for (const auto& list : lists) {
    for (const auto& set : item.sets) {
      auto& longer = all.emplace_back(list);
      for (const size_t key : set) longer.push_back(&item.keys[key]);
    }
  }
  return all;
}

// The lists of ROLLUP(parts), the longest first, and of CUBE(parts). A part is keys that are there or left out together.
std::vector<std::vector<size_t>> listsOf(const std::vector<std::vector<size_t>>& parts, bool cube) {
  const size_t numParts = parts.size();
  if (cube && numParts > 12) throw unsupported("A cube of more than 12 columns");
  std::vector<std::vector<size_t>> lists;
  for (size_t left = 0; left < (cube ? size_t{1} << numParts : numParts + 1); ++left) {
    auto& list = lists.emplace_back();
    for (size_t part = 0; part < numParts; ++part) {
      const bool leftOut = cube ? left >> (numParts - 1 - part) & 1 : part >= numParts - left;
      if (!leftOut) list.insert(list.end(), parts[part].begin(), parts[part].end());
    }
  }
  return lists;
}

}  // namespace

// The keys of a grouping set: (a, b), (), or one key without parentheses, which may begin with some: (a + b) * c.
Nodes SqlParser::parseKeyList() {
  const size_t begin = tokens_.position();
  if (tokens_.acceptSymbol("(")) {
    Nodes keys = parseArguments();
    if (tokens_.peekSymbol(",") || tokens_.peekSymbol(")")) return keys;
    tokens_.rewind(begin);
  }
  return nodes(parseExpression());
}

// Behind ROLLUP or CUBE: its parts by the positions of their keys, which are added to `keys`.
std::vector<std::vector<size_t>> SqlParser::parseKeyLists(Nodes* keys) {
  std::vector<std::vector<size_t>> parts;
  tokens_.expectSymbol("(");
  if (tokens_.acceptSymbol(")")) return parts;
  do {
    auto& part = parts.emplace_back();
    for (Node& key : parseKeyList()) {
      part.push_back(keys->size());
      keys->push_back(std::move(key));
    }
  } while (tokens_.acceptSymbol(","));
  tokens_.expectSymbol(")");
  return parts;
}

void SqlParser::parseGroupBy(Grouping* grouping) {
  using sc::Aggregate;
  grouping->type = Aggregate::GROUP_TYPE_GROUPBY;
  if (tokens_.peekWord("all") && !tokens_.peekSymbol(",", 1) && !tokens_.peekSymbol(".", 1)) {
    tokens_.take();
    grouping->all = true;
    return;
  }
  std::vector<GroupingItem> items;
  Aggregate::GroupType special = Aggregate::GROUP_TYPE_UNSPECIFIED;  // of the last item that is no plain key
  do {
    GroupingItem& item = items.emplace_back();
    if (tokens_.peekAnyWord({"rollup", "cube"}) && tokens_.peekSymbol("(", 1)) {
      const bool cube = tokens_.peekWord("cube");
      special = cube ? Aggregate::GROUP_TYPE_CUBE : Aggregate::GROUP_TYPE_ROLLUP;
      tokens_.take();
      const auto parts = parseKeyLists(&item.keys);
      item.hasLists = parts.size() != item.keys.size();
      item.sets = listsOf(parts, cube);
    } else if (tokens_.peekWords({"grouping", "sets"}) && tokens_.peekSymbol("(", 2)) {
      special = Aggregate::GROUP_TYPE_GROUPING_SETS;
      parseGroupingSets(&item.keys, &item.sets);
    } else {
      item.keys = nodes(parseExpression());
      item.sets = {{0}};
    }
  } while (tokens_.acceptSymbol(","));
  if (special == Aggregate::GROUP_TYPE_UNSPECIFIED) {
    for (GroupingItem& item : items) grouping->keys.push_back(std::move(item.keys[0]));
    if (tokens_.acceptWords({"with", "rollup"})) grouping->type = Aggregate::GROUP_TYPE_ROLLUP;
    else if (tokens_.acceptWords({"with", "cube"})) grouping->type = Aggregate::GROUP_TYPE_CUBE;
    else if (tokens_.peekWords({"grouping", "sets"})) parseSetsOfKeys(grouping);
    return;
  }
  if (items.size() == 1 && special != Aggregate::GROUP_TYPE_GROUPING_SETS && !items[0].hasLists) {
    grouping->type = special;
    grouping->keys = std::move(items[0].keys);
    return;
  }
  grouping->type = Aggregate::GROUP_TYPE_GROUPING_SETS;
  std::vector<std::vector<const Node*>> sets(1);
  for (const GroupingItem& item : items) sets = crossed(sets, item);
  for (const auto& set : sets) {
    Nodes& keys = grouping->sets.emplace_back();
    for (const Node* key : set) keys.push_back(copied(*key));
  }
}

// a, b GROUPING SETS ((a, b), a): the keys' order is the list's before.
void SqlParser::parseSetsOfKeys(Grouping* grouping) {
  grouping->type = sc::Aggregate::GROUP_TYPE_GROUPING_SETS;
  Nodes keys;
  std::vector<std::vector<size_t>> sets;
  parseGroupingSets(&keys, &sets);
  for (const auto& set : sets) {
    Nodes& nodes = grouping->sets.emplace_back();
    for (const size_t key : set) nodes.push_back(copied(keys[key]));
  }
}

// GROUPING SETS ((a, b), a, ()); each key that is named, and the sets by their positions. A set may be a ROLLUP or CUBE, or
// GROUPING SETS in turn: its sets are among these.
void SqlParser::parseGroupingSets(Nodes* keys, std::vector<std::vector<size_t>>* sets) {
  Level level(*this, 1);
  tokens_.acceptWords({"grouping", "sets"});
  tokens_.expectSymbol("(");
  do {
    const bool cube = tokens_.peekWord("cube");
    if (tokens_.peekWords({"grouping", "sets"}) && tokens_.peekSymbol("(", 2)) {
      parseGroupingSets(keys, sets);
      continue;
    }
    const bool several = tokens_.peekAnyWord({"rollup", "cube"}) && tokens_.peekSymbol("(", 1);
    if (several) {
      tokens_.take();
      for (auto& list : listsOf(parseKeyLists(keys), cube)) sets->push_back(std::move(list));
    } else {
      auto& list = sets->emplace_back();
      for (Node& key : parseKeyList()) {
        list.push_back(keys->size());
        keys->push_back(std::move(key));
      }
    }
    if (sets->size() > kMostGroupingSets) throw unsupported("More than " + std::to_string(kMostGroupingSets) + " grouping sets");
  } while (tokens_.acceptSymbol(","));
  tokens_.expectSymbol(")");
}

}  // namespace thalweg::sql
