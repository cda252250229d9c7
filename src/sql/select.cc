// SELECT with its clauses, from the hints to HAVING.
#include <algorithm>

#include "spark/connect/relations.pb.h"
#include "sql/grouping.h"
#include "sql/restored.h"
#include "sql/sql_parser.h"
#include "thalweg.pb.h"

namespace thalweg::sql {

namespace sc = spark::connect;

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
    aggregate.set_group_type(static_cast<sc::Aggregate::GroupType>(grouping.type));
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

}  // namespace thalweg::sql
