// Messages under construction, with their height, so that no text builds one too deep to be walked or destroyed.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sql/message_ptr.h"

namespace thalweg::sql {

// An expression and the levels of nesting in it.
struct Node {
  ExpressionPtr message;
  int height = 1;
};

// A relation likewise; its expressions count.
struct Plan {
  RelationPtr message;
  int height = 1;
};

struct SortItem {
  Node child;
  bool descending = false;
  bool nullsFirst = true;
};

using Nodes = std::vector<Node>;

// An empty relation.
Plan newPlan(int height);

// One more than the height of the highest; throws Error TOO_DEEPLY_NESTED above kMaxDepth.
int raisedHeight(int height);
int raisedHeight(const Nodes& nodes, int height = 0);

template <typename... Arguments>
Nodes nodes(Arguments... arguments) {
  Nodes list;
  (list.push_back(std::move(arguments)), ...);
  return list;
}

Node attributeNode(const std::vector<std::string>& parts);
Node starNode(const std::vector<std::string>& target);
Node callNode(std::string name, Nodes arguments, bool distinct = false);
Node stringNode(std::string value);
Node integerNode(int value);
Node booleanNode(bool value);
Node nullNode();
Node aliasNode(Node child, const std::vector<std::string>& names);
Node extractNode(Node child, Node extraction);
Node castNode(Node child, const std::string& type, bool isTry);
Node notNode(Node child);
Node copyNode(const spark::connect::Expression& expression);
// Sort order as a message, moved out of `item`.
void fillSortOrder(SortItem item, spark::connect::Expression_SortOrder* out);

}  // namespace thalweg::sql
