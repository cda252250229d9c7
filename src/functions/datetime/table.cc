// Dates and times.
#include <arrow/api.h>

#include "common/error.h"
#include "functions/coercion.h"
#include "functions/datetime/tables.h"
#include "functions/kernel_support.h"
#include "functions/registry.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

ExpressionPtr batchConstant(std::string name, DataTypePtr type, Kernel kernel) {
  auto traits = std::make_shared<FunctionTraits>();
  traits->name = std::move(name);
  traits->oncePerBatch = true;
  return std::make_shared<Call>(std::move(traits), std::vector<ExpressionPtr>{}, std::move(type), false, std::move(kernel));
}

ExpressionPtr resolveCurrentTimestamp(const FunctionCall& call, const FunctionContext&) {
  return batchConstant(toLowerAscii(call.name), timestampType(), [](const KernelContext& c, const std::vector<arrow::Datum>&) {
    return arrow::Datum(std::make_shared<arrow::TimestampScalar>(c.evaluation.batch->timestampMicros, toArrowType(*timestampType())));
  });
}

ExpressionPtr resolveCurrentDate(const FunctionCall&, const FunctionContext&) {
  return batchConstant("current_date", dateType(), [](const KernelContext& c, const std::vector<arrow::Datum>&) {
    const BatchContext& batch = *c.evaluation.batch;
    const int64_t local = batch.timeZone.toLocalMicros(batch.timestampMicros);
    constexpr int64_t kMicrosPerDay = 86'400'000'000;
    const int64_t days = local / kMicrosPerDay - (local % kMicrosPerDay < 0 ? 1 : 0);
    return arrow::Datum(std::make_shared<arrow::Date32Scalar>(static_cast<int32_t>(days)));
  });
}

}  // namespace

std::span<const FunctionRow> datetimeFunctions() {
  static const std::vector<FunctionRow> rows = [] {
    std::vector<FunctionRow> all = {{"current_timestamp", 0, 0, resolveCurrentTimestamp}, {"now", 0, 0, resolveCurrentTimestamp},
                                    {"current_date", 0, 0, resolveCurrentDate},           {"curdate", 0, 0, resolveCurrentDate}};
    for (auto part : {fieldRows(), dateShiftRows(), timeTextRows(), epochRows(), windowRows()}) all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return rows;
}

}  // namespace thalweg
