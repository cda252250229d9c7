#include "types/nested_fields.h"

#include <utility>
#include <vector>

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

}  // namespace thalweg
