#include "functions/aggregate/percentile_values.h"

#include "expr/cast/cast.h"

namespace thalweg {
namespace {

// The type whose integers are a time's.
const DataTypePtr& integersOf(const DataType& time) {
  static const DataTypePtr days = intType(), micros = longType();
  return time.id() == TypeId::Date || time.id() == TypeId::YearMonthInterval ? days : micros;
}

std::shared_ptr<arrow::Array> cast(const std::shared_ptr<arrow::Array>& values, const DataType& from,
                                   const DataType& to) {
  const BatchContext batch;
  return castArray(values, from, to, CastMode::Ansi, EvaluationContext{&batch});
}

}  // namespace

std::shared_ptr<arrow::Array> toDoubles(const std::shared_ptr<arrow::Array>& values, const DataType& type) {
  if (type.isNumeric()) return cast(values, type, *doubleType());
  const DataTypePtr& integers = integersOf(type);
  return cast(valueOrThrow(values->View(toArrowType(*integers))), *integers, *doubleType());
}

std::shared_ptr<arrow::Array> fromDoubles(const std::shared_ptr<arrow::Array>& numbers,
                                          const DataType& type) {
  if (type.isNumeric()) return cast(numbers, *doubleType(), type);
  return valueOrThrow(cast(numbers, *doubleType(), *integersOf(type))->View(toArrowType(type)));
}

void PercentileResults::add(const std::vector<double>& numbers) {
  throwIfFailed(offsets_.Append(static_cast<int32_t>(numbers_.length())));
  throwIfFailed(valid_.Append(true));
  throwIfFailed(numbers_.AppendValues(numbers));
}

void PercentileResults::addNull() {
  throwIfFailed(offsets_.Append(static_cast<int32_t>(numbers_.length())));
  throwIfFailed(valid_.Append(false));
  if (!isArray_) throwIfFailed(numbers_.AppendNull());
}

std::shared_ptr<arrow::Array> PercentileResults::finish(const DataTypePtr& type) {
  const int64_t count = valid_.length();
  throwIfFailed(offsets_.Append(static_cast<int32_t>(numbers_.length())));
  const auto values = fromDoubles(valueOrThrow(numbers_.Finish()), *type);
  if (!isArray_) return values;
  return std::make_shared<arrow::ListArray>(toArrowType(*DataType::array(type, false)), count,
                                            valueOrThrow(offsets_.Finish()), values,
                                            valueOrThrow(valid_.Finish()));
}

}  // namespace thalweg
