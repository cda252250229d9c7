#include "types/data_type.h"

#include <array>

#include "common/error.h"
#include "common/options.h"

namespace thalweg {
namespace {

constexpr std::array kDayTimeFields = {"day", "hour", "minute", "second"};
constexpr std::array kYearMonthFields = {"year", "month"};

std::string upper(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

std::string intervalName(const char* from, const char* to) {
  return std::string("interval ") + from + (std::string_view(from) == to ? "" : std::string(" to ") + to);
}

std::string quoteIfNeeded(const std::string& name) {
  bool plain = !name.empty() && !(name[0] >= '0' && name[0] <= '9');
  for (char c : name) plain = plain && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_');
  if (plain) return name;
  std::string quoted = "`";
  for (char c : name) quoted += c == '`' ? "``" : std::string(1, c);
  return quoted + "`";
}

// Names that need no children; schema JSON and simpleString differ in four of them.
struct PrimitiveName {
  const char* json;
  const char* simple;
};

PrimitiveName primitiveName(TypeId id) {
  switch (id) {
    case TypeId::Void: return {"void", "void"};
    case TypeId::Boolean: return {"boolean", "boolean"};
    case TypeId::Byte: return {"byte", "tinyint"};
    case TypeId::Short: return {"short", "smallint"};
    case TypeId::Int: return {"integer", "int"};
    case TypeId::Long: return {"long", "bigint"};
    case TypeId::Float: return {"float", "float"};
    case TypeId::Double: return {"double", "double"};
    case TypeId::String: return {"string", "string"};
    case TypeId::Binary: return {"binary", "binary"};
    case TypeId::Date: return {"date", "date"};
    case TypeId::Timestamp: return {"timestamp", "timestamp"};
    case TypeId::TimestampNtz: return {"timestamp_ntz", "timestamp_ntz"};
    case TypeId::CalendarInterval: return {"interval", "interval"};
    case TypeId::Variant: return {"variant", "variant"};
    default: break;
  }
  return {"", ""};
}

}  // namespace

DataTypePtr DataType::primitive(TypeId id) {
  // One shared instance a type.
  static const auto instances = [] {
    std::array<DataTypePtr, static_cast<size_t>(TypeId::Variant) + 1> made;
    for (size_t i = 0; i < made.size(); ++i) made[i] = DataTypePtr(new DataType(static_cast<TypeId>(i)));
    return made;
  }();
  return instances[static_cast<size_t>(id)];
}

DataTypePtr DataType::decimal(int precision, int scale) {
  THALWEG_ASSERT(precision >= 1 && precision <= 38 && scale >= 0 && scale <= precision);
  auto* type = new DataType(TypeId::Decimal);
  type->first_ = precision;
  type->second_ = scale;
  return DataTypePtr(type);
}

DataTypePtr DataType::array(DataTypePtr element, bool containsNull) {
  auto* type = new DataType(TypeId::Array);
  type->children_ = {std::move(element)};
  type->containsNull_ = containsNull;
  return DataTypePtr(type);
}

DataTypePtr DataType::map(DataTypePtr key, DataTypePtr value, bool valueContainsNull) {
  auto* type = new DataType(TypeId::Map);
  type->children_ = {std::move(key), std::move(value)};
  type->containsNull_ = valueContainsNull;
  return DataTypePtr(type);
}

DataTypePtr DataType::structOf(std::vector<StructField> fields) {
  auto* type = new DataType(TypeId::Struct);
  type->fields_ = std::move(fields);
  return DataTypePtr(type);
}

DataTypePtr DataType::dayTimeInterval(int startField, int endField) {
  auto* type = new DataType(TypeId::DayTimeInterval);
  type->first_ = startField;
  type->second_ = endField;
  return DataTypePtr(type);
}

DataTypePtr DataType::yearMonthInterval(int startField, int endField) {
  auto* type = new DataType(TypeId::YearMonthInterval);
  type->first_ = startField;
  type->second_ = endField;
  return DataTypePtr(type);
}

int DataType::fieldIndex(std::string_view name, bool caseSensitive) const {
  for (size_t i = 0; i < fields_.size(); ++i) {
    if (caseSensitive ? fields_[i].name == name : equalsIgnoreCase(fields_[i].name, name)) return static_cast<int>(i);
  }
  return -1;
}

bool DataType::isIntegral() const {
  return id_ == TypeId::Byte || id_ == TypeId::Short || id_ == TypeId::Int || id_ == TypeId::Long;
}

bool DataType::isFractional() const {
  return id_ == TypeId::Float || id_ == TypeId::Double || id_ == TypeId::Decimal;
}

std::string DataType::simpleString() const {
  switch (id_) {
    case TypeId::Array: return "array<" + element()->simpleString() + ">";
    case TypeId::Map: return "map<" + key()->simpleString() + "," + value()->simpleString() + ">";
    case TypeId::Struct: {
      std::string text = "struct<";
      for (size_t i = 0; i < fields_.size(); ++i) {
        text += (i ? "," : "") + fields_[i].name + ":" + fields_[i].type->simpleString();
      }
      return text + ">";
    }
    case TypeId::Decimal:
    case TypeId::DayTimeInterval:
    case TypeId::YearMonthInterval: return typeName();
    default: return primitiveName(id_).simple;
  }
}

std::string DataType::sqlString() const {
  switch (id_) {
    case TypeId::Array: return "ARRAY<" + element()->sqlString() + ">";
    case TypeId::Map: return "MAP<" + key()->sqlString() + ", " + value()->sqlString() + ">";
    case TypeId::Struct: {
      std::string text = "STRUCT<";
      for (size_t i = 0; i < fields_.size(); ++i) {
        text += (i ? ", " : "") + quoteIfNeeded(fields_[i].name) + ": " + fields_[i].type->sqlString() +
                (fields_[i].nullable ? "" : " NOT NULL");
      }
      return text + ">";
    }
    default: return upper(simpleString());
  }
}

std::string DataType::typeName() const {
  switch (id_) {
    case TypeId::Decimal: return "decimal(" + std::to_string(first_) + "," + std::to_string(second_) + ")";
    case TypeId::DayTimeInterval: return intervalName(kDayTimeFields[first_], kDayTimeFields[second_]);
    case TypeId::YearMonthInterval: return intervalName(kYearMonthFields[first_], kYearMonthFields[second_]);
    case TypeId::Array: return "array";
    case TypeId::Map: return "map";
    case TypeId::Struct: return "struct";
    default: return primitiveName(id_).json;
  }
}

bool equals(const DataType& left, const DataType& right, bool compareNullability) {
  if (left.id() != right.id()) return false;
  switch (left.id()) {
    case TypeId::Decimal:
    case TypeId::DayTimeInterval:
    case TypeId::YearMonthInterval: return left.precision() == right.precision() && left.scale() == right.scale();
    case TypeId::Array:
      return (!compareNullability || left.containsNull() == right.containsNull()) &&
             equals(*left.element(), *right.element(), compareNullability);
    case TypeId::Map:
      return (!compareNullability || left.containsNull() == right.containsNull()) &&
             equals(*left.key(), *right.key(), compareNullability) &&
             equals(*left.value(), *right.value(), compareNullability);
    case TypeId::Struct: {
      if (left.fields().size() != right.fields().size()) return false;
      for (size_t i = 0; i < left.fields().size(); ++i) {
        const StructField& a = left.fields()[i];
        const StructField& b = right.fields()[i];
        if (a.name != b.name || (compareNullability && a.nullable != b.nullable)) return false;
        if (!equals(*a.type, *b.type, compareNullability)) return false;
      }
      return true;
    }
    default: return true;
  }
}

DataTypePtr asNullable(const DataTypePtr& type) {
  switch (type->id()) {
    case TypeId::Array: return DataType::array(asNullable(type->element()), true);
    case TypeId::Map: return DataType::map(asNullable(type->key()), asNullable(type->value()), true);
    case TypeId::Struct: {
      std::vector<StructField> fields = type->fields();
      for (StructField& field : fields) {
        field.type = asNullable(field.type);
        field.nullable = true;
      }
      return DataType::structOf(std::move(fields));
    }
    default: return type;
  }
}

}  // namespace thalweg
