#include "expr/cast/kernels.h"

#include <arrow/api.h>

#include "common/error.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {

ArrayPtr castKernel(const ArrayPtr& input, const DataType& from, const DataType& to, const CastKernelContext& context) {
  if (equals(from, to)) return input;
  if (from.id() == TypeId::Void || input->null_count() == input->length()) {
    return valueOrThrow(arrow::MakeArrayOfNull(toArrowType(to), input->length(), context.evaluation.memoryPool()));
  }
  switch (to.id()) {
    case TypeId::Boolean: return castToBoolean(input, from, context);
    case TypeId::Byte:
    case TypeId::Short:
    case TypeId::Int:
    case TypeId::Long:
    case TypeId::Float:
    case TypeId::Double: return castToNumber(input, from, to, context);
    case TypeId::Decimal: return castToDecimal(input, from, to, context);
    case TypeId::Date:
    case TypeId::Timestamp:
    case TypeId::TimestampNtz: return castToTime(input, from, to, context);
    case TypeId::String: return castToText(input, from, context);
    case TypeId::Binary:
      // The same bytes under another name.
      if (from.id() == TypeId::String) return valueOrThrow(input->View(arrow::binary()));
      break;
    case TypeId::Array:
    case TypeId::Map:
    case TypeId::Struct: return castNested(input, from, to, context);
    default: break;
  }
  throw unsupported("A cast from " + from.sqlString() + " to " + to.sqlString());
}

void throwCastOverflow(const std::string& value, const DataType& from, const DataType& to) {
  throw Error("CAST_OVERFLOW",
              "The value " + value + " of type " + from.sqlString() + " does not fit into " + to.sqlString() +
                  "; use try_cast to get NULL instead.",
              {{"value", value}, {"sourceType", "\"" + from.sqlString() + "\""}, {"targetType", "\"" + to.sqlString() + "\""},
               {"ansiConfig", "\"spark.sql.ansi.enabled\""}});
}

void throwCastInvalidInput(const std::string& value, const DataType& from, const DataType& to) {
  const bool isTime = to.id() == TypeId::Date || to.id() == TypeId::Timestamp || to.id() == TypeId::TimestampNtz;
  throw Error(isTime ? ErrorKind::DateTime : to.id() == TypeId::Boolean ? ErrorKind::SparkRuntime : ErrorKind::NumberFormat,
              "CAST_INVALID_INPUT",
              "The value '" + value + "' of type " + from.sqlString() + " cannot be read as " + to.sqlString() +
                  "; use try_cast to get NULL instead.",
              {{"expression", "'" + value + "'"}, {"sourceType", "\"" + from.sqlString() + "\""},
               {"targetType", "\"" + to.sqlString() + "\""}, {"ansiConfig", "\"spark.sql.ansi.enabled\""}});
}

}  // namespace thalweg
