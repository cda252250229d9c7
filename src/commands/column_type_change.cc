#include "commands/column_type_change.h"

#include <algorithm>
#include <iterator>

#include "catalog/names.h"
#include "commands/schema_fields.h"
#include "common/error.h"
#include "delta/snapshot/type_widening.h"

namespace thalweg {
namespace {

// Whether Spark would read the one as the other: then it is for Delta to refuse.
bool canUpCast(const DataType& from, const DataType& to) {
  static constexpr TypeId kWidths[] = {TypeId::Byte, TypeId::Short, TypeId::Int,
                                       TypeId::Long, TypeId::Float, TypeId::Double};
  const auto rank = [](TypeId id) {
    return std::find(std::begin(kWidths), std::end(kWidths), id) - std::begin(kWidths);
  };
  if (to.id() == TypeId::String) return !from.isNested();
  if (from.id() == TypeId::Date) return to.id() == TypeId::Timestamp || to.id() == TypeId::TimestampNtz;
  return rank(from.id()) < rank(to.id()) && rank(to.id()) < std::ssize(kWidths);
}

Error nestedTypeError(const DataType& from, const sql::Name& path, const std::string& table) {
  const std::string name = quotedName(path);
  const auto error = [&](const char* kind, const std::string& parts) {
    return Error(std::string("CANNOT_UPDATE_FIELD.") + kind,
                 "The type of column " + name + " is changed by changing " + parts + ".",
                 {{"table", table}, {"fieldName", name}});
  };
  if (from.id() == TypeId::Struct) return error("STRUCT_TYPE", "its fields");
  if (from.id() == TypeId::Array) return error("ARRAY_TYPE", name + ".element");
  return error("MAP_TYPE", name + ".key and " + name + ".value");
}

Error typeChangeError(const DataType& from, const DataType& to, const sql::Name& path,
                      const TypeChangeRules& rules) {
  const std::string& table = rules.table;
  if (from.isNested() || to.isNested()) return nestedTypeError(from.isNested() ? from : to, path, table);
  const std::string text = "The type of column " + dotted(path) + " cannot be changed from " +
                           from.sqlString() + " to " + to.sqlString();
  const bool needsWidening = delta::isSupportedTypeChange(from, to);
  if (rules.boundedType.empty() && (needsWidening || canUpCast(from, to))) {
    const char* advice = ": SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true') first.";
    return Error("DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP", text + (needsWidening ? advice : "."),
                 {{"fieldPath", dotted(path)}, {"oldField", from.sqlString()}, {"newField", to.sqlString()}});
  }
  return Error("NOT_SUPPORTED_CHANGE_COLUMN", text + ".",
               {{"table", table},
                {"originName", quotedName(path)},
                {"originType", "\"" + from.sqlString() + "\""},
                {"newName", quotedName(path)},
                {"newType", "\"" + (rules.boundedType.empty() ? to.sqlString() : rules.boundedType) + "\""}});
}

}  // namespace

SchemaPtr withWiderType(const SchemaPtr& schema, const sql::Name& path, const DataTypePtr& to,
                        const TypeChangeRules& rules) {
  return withChangedType(schema, path, [&](const DataTypePtr& from) {
    if (equals(*from, *to)) return from;
    if (!rules.widens || !delta::isSupportedTypeChange(*from, *to))
      throw typeChangeError(*from, *to, path, rules);
    rules.checkDependents();
    return to;
  });
}

}  // namespace thalweg
