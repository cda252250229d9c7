// Dates and times.
#include <arrow/api.h>

#include "common/error.h"
#include "functions/coercion.h"
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

// A conversion that prints as name(argument) but is a cast.
ExpressionPtr namedCast(const std::string& name, const ExpressionPtr& argument, const DataTypePtr& type, CastMode mode) {
  auto identity = [](const KernelContext&, const std::vector<arrow::Datum>& a) { return a[0]; };
  return makeCall(name, {castTo(argument, type, mode)}, type, identity);
}

ExpressionPtr resolveToDate(const FunctionCall& call, const FunctionContext& context) {
  if (call.arguments.size() == 2) throw unsupported("to_date with a format");
  implicitCast(call.arguments[0], dateType(), "to_date", 1, context);
  return namedCast("to_date", call.arguments[0], dateType(), context.castMode());
}

ExpressionPtr resolveToTimestamp(const FunctionCall& call, const FunctionContext& context) {
  if (call.arguments.size() == 2) throw unsupported("to_timestamp with a format");
  return namedCast("to_timestamp", call.arguments[0], timestampType(), context.castMode());
}

}  // namespace

std::span<const FunctionRow> datetimeFunctions() {
  static const FunctionRow rows[] = {
      {"current_timestamp", 0, 0, resolveCurrentTimestamp}, {"now", 0, 0, resolveCurrentTimestamp},
      {"current_date", 0, 0, resolveCurrentDate},           {"curdate", 0, 0, resolveCurrentDate},
      {"to_date", 1, 2, resolveToDate},                     {"to_timestamp", 1, 2, resolveToTimestamp},
  };
  return rows;
}

}  // namespace thalweg
