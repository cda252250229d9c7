// What DELETE and UPDATE do, resolved: no nodes of a query's plan, for their result is not rows.
#pragma once

#include <string>
#include <vector>

#include "expr/nodes.h"

namespace thalweg {

// The table's columns, in its order, as the expressions below name them.
struct LogicalDelete {
  std::vector<AttributePtr> columns;
  ExpressionPtr condition;  // deterministic, boolean; null: all rows
};

struct LogicalUpdate {
  std::vector<AttributePtr> columns;
  ExpressionPtr condition;  // as of a LogicalDelete
  // Of each column its new value, of the column's type; null where it stays.
  std::vector<ExpressionPtr> values;
};

}  // namespace thalweg
