// Which columns the state of a query's operators is made of, by the names that the query has for them. The
// schemas of the state do not tell sum(a) from sum(b), nor one key from another of its type, and Spark goes
// on with either.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "exec/operators/operator.h"
#include "plan/logical/node.h"

namespace thalweg {

struct OperatorColumns {
  // Of an aggregation, what each of its functions reads, in their order: "v", or "click.price" inside of a
  // struct. Empty for count(1).
  std::vector<std::set<std::string>> arguments;
  // Of a deduplication.
  std::vector<std::string> keys;
  // What the operator could read: columns of the query as it was written, before those that nobody needs are
  // left out.
  std::vector<AttributePtr> input;
};

// By operator id. `query` is the analyzed plan, `plan` what was made of it. Operators that cannot be told
// apart with certainty are left out.
std::map<int, OperatorColumns> operatorColumns(const LogicalNode& query, const PhysicalNode& plan);

// The arguments as text, to be kept in the checkpoint: JSON, as [["v"],["click.price"]].
std::string formatArguments(const OperatorColumns& columns);

// Throws Error STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE where a function would certainly go on with another
// column's values: none of the columns that it read is among those that it reads now, and all of them are
// still there. `stored` is formatArguments' text; what cannot be read of it is no reason to refuse.
void checkArguments(const std::string& stored, const OperatorColumns& columns);

// The same of a deduplication's keys, by the stored schema: Error STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE where
// a key's column is still there but no key any more, and a column that was none is one.
void checkKeys(const Schema& stored, const OperatorColumns& columns);

}  // namespace thalweg
