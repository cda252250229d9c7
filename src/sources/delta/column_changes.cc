#include "sources/delta/column_changes.h"

#include <map>

#include "delta/changes/schema_changes.h"
#include "delta/files/column_mapping.h"
#include "delta/snapshot/type_widening.h"

namespace thalweg {
namespace {

// A part of a schema: a column, or what an array or map holds.
struct Part {
  std::string name;  // "a.b.element"
  std::string last;
  DataTypePtr type;
  bool isColumn = false;
};
using Parts = std::map<std::string, Part>;  // by where they are stored

SchemaPtr storedSchema(const delta::Metadata& metadata) {
  return delta::physicalSchema(metadata.schema(), delta::columnMappingMode(metadata));
}

std::string quoted(const std::string& name) {
  return name.find('.') == std::string::npos ? name : "`" + name + "`";
}

void collect(const DataTypePtr& type, const DataTypePtr& stored, const std::string& name,
             const std::string& at, Parts& parts) {
  const auto add = [&](const DataTypePtr& child, const DataTypePtr& childStored, const std::string& called,
                       const std::string& storedAs, bool isColumn) {
    const std::string childName = name.empty() ? quoted(called) : name + "." + quoted(called);
    const std::string childAt = at + "/" + storedAs;
    parts.emplace(childAt, Part{childName, called, child, isColumn});
    collect(child, childStored, childName, childAt, parts);
  };
  switch (type->id()) {
    case TypeId::Struct:
      for (size_t i = 0; i < type->fields().size(); ++i) {
        const StructField& field = type->fields()[i];
        const StructField& storedField = stored->fields()[i];
        add(field.type, storedField.type, field.name, storedField.name, true);
      }
      break;
    case TypeId::Array:
      add(type->element(), stored->element(), "element", "element", false);
      break;
    case TypeId::Map:
      add(type->key(), stored->key(), "key", "key", false);
      add(type->value(), stored->value(), "value", "value", false);
      break;
    default:
      break;
  }
}

Parts partsOf(const delta::Metadata& metadata) {
  Parts parts;
  collect(metadata.schema(), storedSchema(metadata), "", "", parts);
  return parts;
}

}  // namespace

ColumnChanges columnChanges(const delta::Metadata& older, const delta::Metadata& newer) {
  ColumnChanges changes;
  const Parts before = partsOf(older);
  const Parts after = partsOf(newer);
  for (const auto& [at, part] : before) {
    const auto found = after.find(at);
    if (found == after.end()) {
      if (part.isColumn) changes.dropped.push_back(part.name);
      continue;
    }
    const Part& now = found->second;
    if (part.last != now.last) changes.renamed.push_back({part.name, now.name});
    if (!equals(*part.type, *now.type) && delta::isSupportedTypeChange(*part.type, *now.type))
      changes.widened.push_back({now.name, part.type->sqlString(), now.type->sqlString()});
  }
  return changes;
}

bool keepsOrWidensTypes(const delta::Metadata& older, const delta::Metadata& newer) {
  return delta::isReadCompatible(*storedSchema(older), *storedSchema(newer),
                                 {.allowMissingColumns = true, .allowWidenedTypes = true});
}

std::string ColumnChanges::kind() const {
  if (renamed.empty() && dropped.empty()) return "TYPE WIDENING";
  if (!renamed.empty() && !dropped.empty())
    return widened.empty() ? "RENAME AND DROP COLUMN" : "RENAME, DROP AND TYPE WIDENING";
  const std::string one = renamed.empty() ? "DROP" : "RENAME";
  return one + (widened.empty() ? " COLUMN" : " AND TYPE WIDENING");
}

std::string ColumnChanges::details() const {
  std::string text;
  const auto list = [&](const char* title, size_t count, const auto& item) {
    if (count == 0) return;
    text += (text.empty() ? "" : "\n") + std::string(title);
    for (size_t i = 0; i < count; ++i) text += (i == 0 ? " " : ", ") + item(i);
  };
  list("renamed:", renamed.size(),
       [&](size_t i) { return "'" + renamed[i].from + "' to '" + renamed[i].to + "'"; });
  list("dropped:", dropped.size(), [&](size_t i) { return "'" + dropped[i] + "'"; });
  list("of a wider type:", widened.size(), [&](size_t i) {
    return "'" + widened[i].column + "' from " + widened[i].from + " to " + widened[i].to;
  });
  return text;
}

}  // namespace thalweg
