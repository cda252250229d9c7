#include "commands/schema_fields.h"

#include "catalog/names.h"
#include "common/error.h"
#include "common/options.h"

namespace thalweg {
namespace {

Error columnMissing(const sql::Name& path, const std::vector<StructField>& siblings) {
  std::string proposal;
  for (const StructField& field : siblings)
    proposal += (proposal.empty() ? "" : ", ") + quotedName({field.name});
  return Error("UNRESOLVED_COLUMN.WITH_SUGGESTION",
               "There is no column " + quotedName(path) + "; there are " + proposal + ".",
               {{"objectName", quotedName(path)}, {"proposal", proposal}});
}

// The type with the fields below `parent` (from `depth` on) as `change` leaves them.
DataTypePtr changedBelow(const DataTypePtr& type, const sql::Name& parent, size_t depth,
                         const SiblingsChange& change) {
  if (type->id() == TypeId::Array && depth < parent.size() && equalsIgnoreCase(parent[depth], "element"))
    return DataType::array(changedBelow(type->element(), parent, depth + 1, change), type->containsNull());
  if (type->id() == TypeId::Map && depth < parent.size()) {
    const bool key = equalsIgnoreCase(parent[depth], "key");
    if (key || equalsIgnoreCase(parent[depth], "value")) {
      return DataType::map(key ? changedBelow(type->key(), parent, depth + 1, change) : type->key(),
                           key ? type->value() : changedBelow(type->value(), parent, depth + 1, change),
                           type->containsNull());
    }
  }
  if (type->id() != TypeId::Struct) {
    throw Error("DELTA_ADD_COLUMN_PARENT_NOT_STRUCT",
                "The column " + dotted(parent) + " is " + type->sqlString() + ": it has no fields to change.",
                {{"columnName", dotted(parent)}, {"other", type->sqlString()}});
  }
  std::vector<StructField> fields = type->fields();
  if (depth == parent.size()) {
    change(&fields);
  } else {
    const int index = type->fieldIndex(parent[depth], /*caseSensitive=*/false);
    if (index < 0) throw columnMissing(parent, fields);
    StructField& field = fields[static_cast<size_t>(index)];
    field.type = changedBelow(field.type, parent, depth + 1, change);
  }
  return DataType::structOf(std::move(fields));
}

DataTypePtr changedAt(const DataTypePtr& type, const sql::Name& path, size_t depth,
                      const TypeExchange& change) {
  if (depth == path.size()) return change(type);
  const auto next = [&](const DataTypePtr& inner) { return changedAt(inner, path, depth + 1, change); };
  if (type->id() == TypeId::Array && equalsIgnoreCase(path[depth], "element"))
    return DataType::array(next(type->element()), type->containsNull());
  if (type->id() == TypeId::Map && equalsIgnoreCase(path[depth], "key"))
    return DataType::map(next(type->key()), type->value(), type->containsNull());
  if (type->id() == TypeId::Map && equalsIgnoreCase(path[depth], "value"))
    return DataType::map(type->key(), next(type->value()), type->containsNull());
  if (type->id() != TypeId::Struct) throw columnMissing(path, {});
  std::vector<StructField> fields = type->fields();
  StructField& field = fields[indexOf(fields, path[depth], path)];
  field.type = next(field.type);
  return DataType::structOf(std::move(fields));
}

}  // namespace

std::string dotted(const sql::Name& path) {
  return fmt::format("{}", fmt::join(path, "."));
}

DataTypePtr withChangedFields(const DataTypePtr& type, const sql::Name& parent,
                              const SiblingsChange& change) {
  return changedBelow(type, parent, 0, change);
}

DataTypePtr withChangedType(const DataTypePtr& type, const sql::Name& path, const TypeExchange& change) {
  return changedAt(type, path, 0, change);
}

bool hasField(const DataType& type, const sql::Name& path) {
  const DataType* at = &type;
  bool isField = false;
  for (const std::string& part : path) {
    isField = at->id() == TypeId::Struct;
    if (isField) {
      const int index = at->fieldIndex(part, /*caseSensitive=*/false);
      if (index < 0) return false;
      at = at->fields()[static_cast<size_t>(index)].type.get();
    } else if (at->id() == TypeId::Array && equalsIgnoreCase(part, "element")) {
      at = at->element().get();
    } else if (at->id() == TypeId::Map && equalsIgnoreCase(part, "key")) {
      at = at->key().get();
    } else if (at->id() == TypeId::Map && equalsIgnoreCase(part, "value")) {
      at = at->value().get();
    } else {
      return false;
    }
  }
  return isField;
}

sql::Name parentOf(const sql::Name& path) {
  return {path.begin(), path.end() - 1};
}

size_t indexOf(const std::vector<StructField>& siblings, const std::string& name, const sql::Name& path) {
  for (size_t i = 0; i < siblings.size(); ++i) {
    if (equalsIgnoreCase(siblings[i].name, name)) return i;
  }
  throw columnMissing(path, siblings);
}

void place(std::vector<StructField>* siblings, StructField field, bool first,
           const std::optional<std::string>& after, const sql::Name& path) {
  auto at = siblings->end();
  if (first) at = siblings->begin();
  if (after) at = siblings->begin() + static_cast<std::ptrdiff_t>(indexOf(*siblings, *after, path)) + 1;
  siblings->insert(at, std::move(field));
}

}  // namespace thalweg
