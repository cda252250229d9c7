#include "sql/node.h"

#include <algorithm>

#include "common/error.h"
#include "spark/connect/expressions.pb.h"
#include "spark/connect/relations.pb.h"
#include "sql/parser.h"

namespace thalweg::sql {
namespace {

namespace sc = spark::connect;

Node newNode(int height = 1) { return {ExpressionPtr(new sc::Expression()), height}; }

int measuredHeight(const sc::Expression& expression) {
  // Parameters are literals or calls of literals (array, map, struct): a fixed allowance holds for them.
  return expression.has_literal() ? 1 : 100;
}

}  // namespace

int raisedHeight(int height) {
  if (height >= kMaxDepth) {
    throw Error("TOO_DEEPLY_NESTED", "The SQL text nests deeper than " + std::to_string(kMaxDepth) +
                                         " levels (long chains of operators count): split it.");
  }
  return height + 1;
}

int raisedHeight(const Nodes& nodes, int height) {
  for (const Node& node : nodes) height = std::max(height, node.height);
  return raisedHeight(height);
}

Plan newPlan(int height) {
  return {RelationPtr(new sc::Relation()), height};
}

Node attributeNode(const std::vector<std::string>& parts) {
  Node node = newNode();
  node.message->mutable_unresolved_attribute()->set_unparsed_identifier(unparsedIdentifier(parts));
  return node;
}

Node starNode(const std::vector<std::string>& target) {
  Node node = newNode();
  auto* star = node.message->mutable_unresolved_star();
  if (!target.empty()) star->set_unparsed_target(unparsedIdentifier(target) + ".*");
  return node;
}

Node callNode(std::string name, Nodes arguments, bool distinct) {
  Node node = newNode(raisedHeight(arguments));
  auto* function = node.message->mutable_unresolved_function();
  function->set_function_name(std::move(name));
  function->set_is_distinct(distinct);
  for (Node& argument : arguments) function->mutable_arguments()->AddAllocated(argument.message.release());
  return node;
}

Node stringNode(std::string value) {
  Node node = newNode();
  node.message->mutable_literal()->set_string(std::move(value));
  return node;
}

Node integerNode(int value) {
  Node node = newNode();
  node.message->mutable_literal()->set_integer(value);
  return node;
}

Node booleanNode(bool value) {
  Node node = newNode();
  node.message->mutable_literal()->set_boolean(value);
  return node;
}

Node nullNode() {
  Node node = newNode();
  node.message->mutable_literal()->mutable_null()->mutable_null();
  return node;
}

Node aliasNode(Node child, const std::vector<std::string>& names) {
  Node node = newNode(raisedHeight(child.height));
  auto* alias = node.message->mutable_alias();
  alias->set_allocated_expr(child.message.release());
  for (const std::string& name : names) alias->add_name(name);
  return node;
}

Node extractNode(Node child, Node extraction) {
  Node node = newNode(raisedHeight(std::max(child.height, extraction.height)));
  auto* extract = node.message->mutable_unresolved_extract_value();
  extract->set_allocated_child(child.message.release());
  extract->set_allocated_extraction(extraction.message.release());
  return node;
}

Node castNode(Node child, const std::string& type, bool isTry) {
  Node node = newNode(raisedHeight(child.height));
  auto* cast = node.message->mutable_cast();
  cast->set_allocated_expr(child.message.release());
  cast->set_type_str(type);
  if (isTry) cast->set_eval_mode(sc::Expression::Cast::EVAL_MODE_TRY);
  return node;
}

Node notNode(Node child) { return callNode("not", nodes(std::move(child))); }

Node copyNode(const sc::Expression& expression) {
  return {ExpressionPtr(new sc::Expression(expression)), measuredHeight(expression)};
}

void fillSortOrder(SortItem item, sc::Expression_SortOrder* out) {
  out->set_allocated_child(item.child.message.release());
  out->set_direction(item.descending ? sc::Expression::SortOrder::SORT_DIRECTION_DESCENDING
                                     : sc::Expression::SortOrder::SORT_DIRECTION_ASCENDING);
  out->set_null_ordering(item.nullsFirst ? sc::Expression::SortOrder::SORT_NULLS_FIRST
                                         : sc::Expression::SortOrder::SORT_NULLS_LAST);
}

}  // namespace thalweg::sql
