#include "sources/files/merged_schema.h"

#include <algorithm>

#include "common/error.h"

namespace thalweg {
namespace {

// Null where the two do not go together.
DataTypePtr mergedType(const DataTypePtr& left, const DataTypePtr& right, bool caseSensitive);

DataTypePtr mergedStruct(const DataType& left, const DataType& right, bool caseSensitive) {
  std::vector<StructField> fields = left.fields();
  for (const StructField& field : right.fields()) {
    const int index = left.fieldIndex(field.name, caseSensitive);
    if (index < 0) {
      fields.push_back(field);
      continue;
    }
    StructField& own = fields[static_cast<size_t>(index)];
    own.type = mergedType(own.type, field.type, caseSensitive);
    if (!own.type) return nullptr;
    own.nullable = own.nullable || field.nullable;
  }
  return DataType::structOf(std::move(fields));
}

DataTypePtr mergedType(const DataTypePtr& left, const DataTypePtr& right, bool caseSensitive) {
  if (left->id() != right->id()) return nullptr;
  switch (left->id()) {
    case TypeId::Struct:
      return mergedStruct(*left, *right, caseSensitive);
    case TypeId::Array: {
      const DataTypePtr element = mergedType(left->element(), right->element(), caseSensitive);
      return element ? DataType::array(element, left->containsNull() || right->containsNull()) : nullptr;
    }
    case TypeId::Map: {
      const DataTypePtr key = mergedType(left->key(), right->key(), caseSensitive);
      const DataTypePtr value = mergedType(left->value(), right->value(), caseSensitive);
      if (!key || !value) return nullptr;
      return DataType::map(key, value, left->containsNull() || right->containsNull());
    }
    case TypeId::Decimal:
      if (left->scale() != right->scale()) return nullptr;
      return DataType::decimal(std::max(left->precision(), right->precision()), left->scale());
    default:
      return equals(*left, *right) ? left : nullptr;
  }
}

}  // namespace

SchemaPtr mergedSchema(const SchemaPtr& left, const SchemaPtr& right, bool caseSensitive) {
  if (SchemaPtr merged = mergedStruct(*left, *right, caseSensitive)) return merged;
  throw Error("CANNOT_MERGE_SCHEMAS",
              "The files' columns do not go together: some have " + left->simpleString() + ", others " +
                  right->simpleString() + ". Read them apart, or give a schema.",
              {{"left", left->sqlString()}, {"right", right->sqlString()}});
}

}  // namespace thalweg
