#include "types/nested_fields.h"

#include <set>
#include <utility>
#include <vector>

#include "common/options.h"

namespace thalweg {

DataTypePtr withEachField(const DataTypePtr& type, const std::function<void(StructField* field)>& change) {
  switch (type->id()) {
    case TypeId::Array:
      return DataType::array(withEachField(type->element(), change), type->containsNull());
    case TypeId::Map: {
      DataTypePtr key = withEachField(type->key(), change);
      return DataType::map(std::move(key), withEachField(type->value(), change), type->containsNull());
    }
    case TypeId::Struct: {
      std::vector<StructField> fields = type->fields();
      for (StructField& field : fields) {
        change(&field);
        field.type = withEachField(field.type, change);
      }
      return DataType::structOf(std::move(fields));
    }
    default:
      return type;
  }
}

std::optional<std::string> emptyStructIn(const DataType& type) {
  const auto below = [](const std::string& name, const DataType& inner) -> std::optional<std::string> {
    const auto path = emptyStructIn(inner);
    if (!path) return std::nullopt;
    return path->empty() ? name : name + "." + *path;
  };
  switch (type.id()) {
    case TypeId::Array:
      return below("element", *type.element());
    case TypeId::Map: {
      auto path = below("key", *type.key());
      return path ? path : below("value", *type.value());
    }
    case TypeId::Struct: {
      if (type.fields().empty()) return std::string();
      for (const StructField& field : type.fields()) {
        if (auto path = below(field.name, *field.type)) return path;
      }
      return std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

std::optional<std::string> repeatedName(const DataType& type, bool caseSensitive) {
  switch (type.id()) {
    case TypeId::Array:
      return repeatedName(*type.element(), caseSensitive);
    case TypeId::Map: {
      auto name = repeatedName(*type.key(), caseSensitive);
      return name ? name : repeatedName(*type.value(), caseSensitive);
    }
    case TypeId::Struct: {
      std::set<std::string> seen;
      for (const StructField& field : type.fields()) {
        if (!seen.insert(caseSensitive ? field.name : toLowerAscii(field.name)).second) return field.name;
        if (auto name = repeatedName(*field.type, caseSensitive)) return name;
      }
      return std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

}  // namespace thalweg
