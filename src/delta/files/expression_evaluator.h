// How the library has SQL evaluated that stands in a table's metadata: constraints, generated columns,
// defaults. It knows no SQL itself; who writes tables hands an evaluator in.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "types/data_type.h"

namespace thalweg::delta {

class RowCondition;
class Snapshot;

// SQL over the columns of a schema. Immutable; any thread.
class RowExpression {
 public:
  virtual ~RowExpression() = default;
  // One value a row. `rows` has all columns of the schema. Throws the Error of a row's value.
  virtual std::shared_ptr<arrow::Array> evaluate(const arrow::RecordBatch& rows) const = 0;
  // The columns that it names, as indexes into the schema, ascending.
  virtual const std::vector<int>& columns() const = 0;
  // Before it was cast to what was asked for.
  virtual const DataTypePtr& type() const = 0;
};

// Any thread. Throws Error for text that does not parse or resolve.
class ExpressionEvaluator {
 public:
  virtual ~ExpressionEvaluator() = default;
  // `sql` over columns of `schema`, its value cast to `type` by the rules of an INSERT (null: as it is).
  virtual std::shared_ptr<const RowExpression> compile(const std::string& sql, const SchemaPtr& schema,
                                                       const DataTypePtr& type) const = 0;
  // A condition over a table's rows, which DELETE could have. The snapshot outlives it.
  virtual std::shared_ptr<RowCondition> condition(const std::string& sql, const Snapshot& snapshot) const = 0;
};

}  // namespace thalweg::delta
