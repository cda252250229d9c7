#include "commands/sql_evaluator.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>

#include "commands/table_condition.h"
#include "common/clock.h"
#include "common/error.h"
#include "delta/snapshot/snapshot.h"
#include "exec/planner/binder.h"
#include "plan/analyze/char_padding.h"
#include "plan/analyze/row_changes.h"

namespace thalweg {
namespace {

BatchContext batchNow(const std::string& timeZone) {
  BatchContext batch;
  batch.timestampMicros = systemClock().nowMicros();
  batch.timeZone = TimeZone::parse(timeZone);
  batch.randomSeed = batch.timestampMicros;
  return batch;
}

class SqlRowExpression final : public delta::RowExpression {
 public:
  SqlRowExpression(const ExpressionPtr& expression, const DataTypePtr& type,
                   const std::vector<AttributePtr>& columns, BatchContext batch)
      : batch_(std::move(batch)), columns_(columnsIn(*expression, columns)), type_(expression->type()) {
    const ExpressionPtr cast = type ? assignedTo(expression, {"", type}) : expression;
    bound_ = Binder(columns, batch_).bind(cast);
  }
  std::shared_ptr<arrow::Array> evaluate(const arrow::RecordBatch& rows) const override {
    return evaluateToArray(*bound_, rows, Selection::all(rows.num_rows()), EvaluationContext{&batch_});
  }
  const std::vector<int>& columns() const override { return columns_; }
  const DataTypePtr& type() const override { return type_; }

 private:
  BatchContext batch_;
  std::vector<int> columns_;
  DataTypePtr type_;
  ExpressionPtr bound_;
};

class SqlEvaluator final : public delta::ExpressionEvaluator {
 public:
  SqlEvaluator(const std::string& timeZone, bool ansi, std::optional<ReplacedRows> replaced)
      : timeZone_(timeZone), replaced_(std::move(replaced)) {
    context_.functions.ansi = ansi;
    context_.functions.timeZone = timeZone;
  }

  std::shared_ptr<const delta::RowExpression> compile(const std::string& sql, const SchemaPtr& schema,
                                                      const DataTypePtr& type) const override {
    const std::vector<AttributePtr> columns = tableColumns(*schema, {});
    ExpressionPtr expression =
        isReplaced(sql) ? replaced_->resolve(columns) : analyzeExpression(sql, columns, context_);
    // What a condition compares has been padded; a value that is stored is not.
    if (type && type->id() == TypeId::Boolean) expression = overPaddedChars(expression);
    return std::make_shared<SqlRowExpression>(expression, type, columns, batchNow(timeZone_));
  }

  std::shared_ptr<delta::RowCondition> condition(const std::string& sql,
                                                 const delta::Snapshot& snapshot) const override {
    const std::vector<AttributePtr> columns = tableColumns(*snapshot.schema(), {});
    const ExpressionPtr condition =
        isReplaced(sql) ? replaced_->resolve(columns) : analyzeCondition(sql, columns, context_);
    return std::make_shared<TableCondition>(snapshot, columns, condition, batchNow(timeZone_));
  }

 private:
  bool isReplaced(const std::string& sql) const { return replaced_ && replaced_->text == sql; }

  std::string timeZone_;
  std::optional<ReplacedRows> replaced_;
  AnalyzerContext context_;
};

}  // namespace

std::shared_ptr<const delta::ExpressionEvaluator> makeSqlEvaluator(const std::string& timeZone, bool ansi,
                                                                   std::optional<ReplacedRows> replaced) {
  return std::make_shared<SqlEvaluator>(timeZone, ansi, std::move(replaced));
}

}  // namespace thalweg
