// Spark's data types: immutable values that the whole engine passes around.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace thalweg {

enum class TypeId {
  Void,
  Boolean,
  Byte,
  Short,
  Int,
  Long,
  Float,
  Double,
  Decimal,
  String,
  Binary,
  Date,          // days since 1970-01-01
  Timestamp,     // microseconds since 1970-01-01 UTC
  TimestampNtz,  // microseconds since 1970-01-01 without a zone
  DayTimeInterval,    // microseconds
  YearMonthInterval,  // months
  CalendarInterval,
  Array,
  Map,
  Struct,
  Variant,
};

class DataType;
using DataTypePtr = std::shared_ptr<const DataType>;

// One field of a struct. `metadata` is a JSON object's text, "{}" or empty where there is none.
struct StructField {
  std::string name;
  DataTypePtr type;
  bool nullable = true;
  std::string metadata = {};
};

// A data type. Immutable and shared; compare with equals (fields' metadata do not count).
class DataType {
 public:
  static DataTypePtr primitive(TypeId id);
  static DataTypePtr decimal(int precision, int scale);  // 1..38, scale 0..precision
  static DataTypePtr array(DataTypePtr element, bool containsNull = true);
  static DataTypePtr map(DataTypePtr key, DataTypePtr value, bool valueContainsNull = true);
  static DataTypePtr structOf(std::vector<StructField> fields);
  // Interval fields are Spark's codes: DAY 0, HOUR 1, MINUTE 2, SECOND 3; YEAR 0, MONTH 1.
  static DataTypePtr dayTimeInterval(int startField, int endField);
  static DataTypePtr yearMonthInterval(int startField, int endField);

  TypeId id() const { return id_; }
  int precision() const { return first_; }
  int scale() const { return second_; }
  int startField() const { return first_; }
  int endField() const { return second_; }
  const DataTypePtr& element() const { return children_[0]; }
  const DataTypePtr& key() const { return children_[0]; }
  const DataTypePtr& value() const { return children_[1]; }
  // array: containsNull; map: valueContainsNull.
  bool containsNull() const { return containsNull_; }
  const std::vector<StructField>& fields() const { return fields_; }
  // Index of a field by exact or case-insensitive name, -1 where none; the first one of several.
  int fieldIndex(std::string_view name, bool caseSensitive = true) const;

  bool isNumeric() const { return isIntegral() || isFractional(); }
  bool isIntegral() const;
  bool isFractional() const;  // float, double, decimal
  bool isNested() const { return id_ == TypeId::Array || id_ == TypeId::Map || id_ == TypeId::Struct; }

  // Spark's short form: "bigint", "decimal(10,2)", "struct<a:int,b:array<string>>". Never cut short.
  std::string simpleString() const;
  // The form of SQL and of error messages: "BIGINT", "STRUCT<a: INT NOT NULL>".
  std::string sqlString() const;
  // The name in schema JSON and tree strings of a type without children: "long", "decimal(10,2)".
  std::string typeName() const;

 private:
  explicit DataType(TypeId id) : id_(id) {}
  TypeId id_;
  int first_ = 0;
  int second_ = 0;
  bool containsNull_ = true;
  std::vector<DataTypePtr> children_;
  std::vector<StructField> fields_;
};

// Same type all through; nullability (and metadata never) counts as asked.
bool equals(const DataType& left, const DataType& right, bool compareNullability = false);

// The type with every part nullable, as Spark's file and JSON readers make of a user's schema.
DataTypePtr asNullable(const DataTypePtr& type);

// A table's or batch's schema is a struct type.
using Schema = DataType;
using SchemaPtr = DataTypePtr;

inline DataTypePtr voidType() { return DataType::primitive(TypeId::Void); }
inline DataTypePtr booleanType() { return DataType::primitive(TypeId::Boolean); }
inline DataTypePtr byteType() { return DataType::primitive(TypeId::Byte); }
inline DataTypePtr shortType() { return DataType::primitive(TypeId::Short); }
inline DataTypePtr intType() { return DataType::primitive(TypeId::Int); }
inline DataTypePtr longType() { return DataType::primitive(TypeId::Long); }
inline DataTypePtr floatType() { return DataType::primitive(TypeId::Float); }
inline DataTypePtr doubleType() { return DataType::primitive(TypeId::Double); }
inline DataTypePtr stringType() { return DataType::primitive(TypeId::String); }
inline DataTypePtr binaryType() { return DataType::primitive(TypeId::Binary); }
inline DataTypePtr dateType() { return DataType::primitive(TypeId::Date); }
inline DataTypePtr timestampType() { return DataType::primitive(TypeId::Timestamp); }
inline DataTypePtr timestampNtzType() { return DataType::primitive(TypeId::TimestampNtz); }

}  // namespace thalweg
