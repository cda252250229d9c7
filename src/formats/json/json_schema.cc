#include "formats/json/json_schema.h"

#include <arrow/type.h>

#include "common/error.h"
#include "types/arrow_types.h"

namespace thalweg {

int JsonNode::fieldIndex(std::string_view name) const {
  // Few names: comparing lengths and bytes beats hashing.
  constexpr size_t kLinear = 8;
  if (names.size() <= kLinear) {
    for (size_t i = names.size(); i-- > 0;) {
      if (names[i] == name) return static_cast<int>(i);
    }
    return -1;
  }
  const auto it = index_.find(std::string(name));
  return it == index_.end() ? -1 : it->second;
}

JsonNode JsonNode::compile(const DataTypePtr& type, int skipField) {
  JsonNode node;
  node.type = type->id();
  node.sparkType = type;
  node.arrowType = toArrowType(*type);
  switch (type->id()) {
    case TypeId::Decimal:
      node.precision = type->precision();
      node.scale = type->scale();
      break;
    case TypeId::Array:
      node.children.push_back(compile(type->element()));
      break;
    case TypeId::Map:
      if (type->key()->id() != TypeId::String) {
        throw Error("DATATYPE_MISMATCH.INVALID_JSON_MAP_KEY_TYPE",
                    "A map read from JSON has strings as keys, not " + type->key()->sqlString() + ".",
                    {{"schema", "\"" + type->sqlString() + "\""}});
      }
      node.children.push_back(compile(type->value()));
      break;
    case TypeId::Struct:
      for (size_t i = 0; i < type->fields().size(); ++i) {
        if (static_cast<int>(i) == skipField) continue;
        const StructField& field = type->fields()[i];
        node.index_[field.name] = static_cast<int>(node.names.size());
        node.names.push_back(field.name);
        node.children.push_back(compile(field.type));
      }
      break;
    case TypeId::Variant:
    case TypeId::DayTimeInterval:
    case TypeId::YearMonthInterval:
    case TypeId::CalendarInterval:
      throw unsupported("reading JSON into " + type->sqlString());
    default:
      break;
  }
  return node;
}

}  // namespace thalweg
