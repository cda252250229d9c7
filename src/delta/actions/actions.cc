#include "delta/actions/actions.h"

#include "common/error.h"
#include "types/schema_json.h"

namespace thalweg::delta {

std::string DeletionVector::uniqueId() const {
  std::string id = storageType + pathOrInlineDv;
  if (offset) id += "@" + std::to_string(*offset);
  return id;
}

SchemaPtr Metadata::schema() const {
  // Tables without a schema exist in the field (an empty CREATE TABLE of old writers).
  if (schemaString.empty()) return DataType::structOf({});
  DataTypePtr type = parseSchemaJson(schemaString);
  if (type->id() != TypeId::Struct) {
    throw Error("INVALID_SCHEMA.NON_STRUCT_TYPE",
                "The schema of this Delta table is " + type->simpleString() +
                    " and not a struct: the metaData action of its log is damaged.");
  }
  return type;
}

}  // namespace thalweg::delta
