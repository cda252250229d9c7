#include "functions/coercion.h"

#include <algorithm>

#include "common/error.h"

namespace thalweg {
namespace {

constexpr int kMaxPrecision = 38;

int numericRank(TypeId id) {
  switch (id) {
    case TypeId::Byte: return 1;
    case TypeId::Short: return 2;
    case TypeId::Int: return 3;
    case TypeId::Long: return 4;
    case TypeId::Decimal: return 5;
    case TypeId::Float: return 6;
    case TypeId::Double: return 7;
    default: return 0;
  }
}

DataTypePtr boundedDecimal(int precision, int scale) {
  return DataType::decimal(std::min(precision, kMaxPrecision), std::min(scale, kMaxPrecision));
}

// Keeps all integral digits and the larger scale; beyond 38 digits the scale gives way.
DataTypePtr widerDecimal(const DataType& left, const DataType& right) {
  const int scale = std::max(left.scale(), right.scale());
  const int integral = std::max(left.precision() - left.scale(), right.precision() - right.scale());
  if (integral + scale <= kMaxPrecision) return DataType::decimal(integral + scale, scale);
  return boundedDecimal(integral + scale, std::max(kMaxPrecision - integral, std::min(scale, 6)));
}

DataTypePtr commonNumeric(const DataTypePtr& left, const DataTypePtr& right, const FunctionContext& context) {
  const int leftRank = numericRank(left->id());
  const int rightRank = numericRank(right->id());
  if (left->id() == TypeId::Decimal || right->id() == TypeId::Decimal) {
    if (std::max(leftRank, rightRank) > numericRank(TypeId::Decimal)) return doubleType();
    return widerDecimal(*decimalFor(*left), *decimalFor(*right));
  }
  // ANSI keeps the digits of a whole number that meets a float; legacy rules take the float.
  if (context.ansi && leftRank != rightRank && std::max(leftRank, rightRank) == numericRank(TypeId::Float)) return doubleType();
  return leftRank >= rightRank ? left : right;
}

bool isDateTime(TypeId id) { return id == TypeId::Date || id == TypeId::Timestamp || id == TypeId::TimestampNtz; }

DataTypePtr commonDateTime(const DataTypePtr& left, const DataTypePtr& right) {
  if (left->id() == TypeId::Timestamp || right->id() == TypeId::Timestamp) return timestampType();
  return timestampNtzType();
}

DataTypePtr commonWithString(const DataTypePtr& other, const FunctionContext& context) {
  if (!context.ansi) return other->isNested() || other->id() == TypeId::Binary ? nullptr : stringType();
  switch (other->id()) {
    case TypeId::Byte:
    case TypeId::Short:
    case TypeId::Int:
    case TypeId::Long: return longType();
    case TypeId::Decimal:
    case TypeId::Float:
    case TypeId::Double: return doubleType();
    case TypeId::Boolean:
    case TypeId::Binary:
    case TypeId::Date:
    case TypeId::Timestamp:
    case TypeId::TimestampNtz:
    case TypeId::DayTimeInterval:
    case TypeId::YearMonthInterval: return other;
    default: return nullptr;
  }
}

DataTypePtr commonStruct(const DataType& left, const DataType& right, const FunctionContext& context) {
  if (left.fields().size() != right.fields().size()) return nullptr;
  std::vector<StructField> fields;
  for (size_t i = 0; i < left.fields().size(); ++i) {
    DataTypePtr type = commonType(left.fields()[i].type, right.fields()[i].type, context);
    if (!type) return nullptr;
    fields.push_back({left.fields()[i].name, type, left.fields()[i].nullable || right.fields()[i].nullable});
  }
  return DataType::structOf(std::move(fields));
}

}  // namespace

DataTypePtr decimalFor(const DataType& type) {
  switch (type.id()) {
    case TypeId::Byte: return DataType::decimal(3, 0);
    case TypeId::Short: return DataType::decimal(5, 0);
    case TypeId::Int: return DataType::decimal(10, 0);
    case TypeId::Long: return DataType::decimal(20, 0);
    default: return DataType::decimal(type.precision(), type.scale());
  }
}

DataTypePtr commonType(const DataTypePtr& left, const DataTypePtr& right, const FunctionContext& context) {
  if (equals(*left, *right, true)) return left;
  if (left->id() == TypeId::Void) return right;
  if (right->id() == TypeId::Void) return left;
  if (left->isNumeric() && right->isNumeric()) return commonNumeric(left, right, context);
  if (isDateTime(left->id()) && isDateTime(right->id())) return commonDateTime(left, right);
  if (left->id() == TypeId::String) return commonWithString(right, context);
  if (right->id() == TypeId::String) return commonWithString(left, context);
  if (left->id() != right->id()) return nullptr;
  switch (left->id()) {
    case TypeId::Array: {
      DataTypePtr element = commonType(left->element(), right->element(), context);
      return element ? DataType::array(element, left->containsNull() || right->containsNull()) : nullptr;
    }
    case TypeId::Map: {
      DataTypePtr key = commonType(left->key(), right->key(), context);
      DataTypePtr value = commonType(left->value(), right->value(), context);
      return key && value ? DataType::map(key, value, left->containsNull() || right->containsNull()) : nullptr;
    }
    case TypeId::Struct: return commonStruct(*left, *right, context);
    case TypeId::DayTimeInterval:
      return DataType::dayTimeInterval(std::min(left->startField(), right->startField()),
                                       std::max(left->endField(), right->endField()));
    case TypeId::YearMonthInterval:
      return DataType::yearMonthInterval(std::min(left->startField(), right->startField()),
                                         std::max(left->endField(), right->endField()));
    default: return nullptr;
  }
}

DataTypePtr commonType(const std::vector<ExpressionPtr>& expressions, const FunctionContext& context) {
  DataTypePtr common = voidType();
  for (const ExpressionPtr& expression : expressions) {
    common = commonType(common, expression->type(), context);
    if (!common) return nullptr;
  }
  return common;
}

ExpressionPtr implicitCast(const ExpressionPtr& argument, const DataTypePtr& to, std::string_view function, int position,
                           const FunctionContext& context) {
  const DataType& from = *argument->type();
  const bool allowed =
      equals(from, *to) || from.id() == TypeId::Void || (from.isNumeric() && to->isNumeric()) ||
      (from.id() == TypeId::String && !to->isNested()) || (to->id() == TypeId::String && !from.isNested()) ||
      (isDateTime(from.id()) && isDateTime(to->id())) || (from.id() == to->id() && from.isNested());
  if (!allowed || !canCast(from, *to, context.castMode())) {
    static constexpr const char* kOrdinals[] = {"", "first", "second", "third", "fourth", "fifth", "sixth"};
    throw Error("DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE",
                "The function " + std::string(function) + " takes " + to->sqlString() + " as argument " +
                    std::to_string(position) + ", but '" + argument->toString() + "' is " + from.sqlString() + ".",
                {{"sqlExpr", "\"" + std::string(function) + "\""},
                 {"paramIndex", position < 7 ? kOrdinals[position] : std::to_string(position)},
                 {"inputSql", "\"" + argument->toString() + "\""},
                 {"inputType", "\"" + from.sqlString() + "\""},
                 {"requiredType", "\"" + to->sqlString() + "\""}});
  }
  return castTo(argument, to, context.castMode());
}

void throwDifferentTypes(std::string_view function, const Expression& left, const Expression& right) {
  throw Error("DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES",
              "The two sides of '" + std::string(function) + "' have different types: '" + left.toString() + "' is " +
                  left.type()->sqlString() + ", '" + right.toString() + "' is " + right.type()->sqlString() + ".",
              {{"sqlExpr", "\"(" + left.toString() + " " + std::string(function) + " " + right.toString() + ")\""},
               {"left", "\"" + left.type()->sqlString() + "\""},
               {"right", "\"" + right.type()->sqlString() + "\""}});
}

}  // namespace thalweg
