#include "expr/literal_text.h"

#include <arrow/api.h>

#include "expr/cast/value_text.h"
#include "types/arrow_result.h"

namespace thalweg {

std::string literalText(const arrow::Scalar& value, const DataType& type) {
  if (!value.is_valid) return "NULL";
  const auto array = valueOrThrow(arrow::MakeArrayFromScalar(value, 1));
  std::string text;
  switch (type.id()) {
    case TypeId::Date: text = "DATE '"; break;
    case TypeId::Timestamp: text = "TIMESTAMP '"; break;
    case TypeId::TimestampNtz: text = "TIMESTAMP_NTZ '"; break;
    case TypeId::DayTimeInterval:
    case TypeId::YearMonthInterval:
    case TypeId::CalendarInterval:
    case TypeId::Variant: return value.ToString();
    default: break;
  }
  const bool quoted = !text.empty();
  ValueText(type, TimeZone()).append(*array, 0, &text);
  return quoted ? text + "'" : text;
}

}  // namespace thalweg
