#include "commands/alter_columns.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "commands/column_type_change.h"
#include "commands/identity_sync.h"
#include "commands/metadata_change.h"
#include "commands/schema_fields.h"
#include "commands/sql_evaluator.h"
#include "commands/table_target.h"
#include "common/error.h"
#include "common/json_text.h"
#include "delta/files/column_mapping.h"
#include "delta/files/dependent_rules.h"
#include "delta/files/row_rules.h"
#include "delta/files/schema_enforcement.h"
#include "delta/snapshot/clustering.h"
#include "delta/snapshot/table_features.h"
#include "delta/snapshot/type_widening.h"
#include "expr/cast/cast.h"
#include "plan/analyze/row_changes.h"
#include "types/char_varchar.h"
#include "types/column_metadata.h"
#include "types/schema_json.h"

namespace thalweg {
namespace {

nlohmann::ordered_json metadataJson(const std::string& metadata) {
  auto json = parseOrderedJson(metadata);
  return json.is_object() ? json : nlohmann::ordered_json::object();
}

// A column as the history names it.
nlohmann::ordered_json columnJson(const StructField& field, const std::string& path) {
  nlohmann::ordered_json type = field.type->isNested() ? nlohmann::ordered_json(field.type->typeName())
                                                       : parseOrderedJson(toSchemaJson(*field.type));
  return {{"name", path},
          {"type", type},
          {"nullable", field.nullable},
          {"metadata", metadataJson(field.metadata)}};
}

std::optional<std::string> positionText(bool first, const std::optional<std::string>& after) {
  if (first) return "FIRST";
  if (after) return "AFTER " + *after;
  return std::nullopt;
}

// One statement over one table.
class ColumnChange {
 public:
  ColumnChange(const sql::AlterTable& statement, CommandSession& session)
      : statement_(statement), target_(requireTable(statement.table, session, "ALTER TABLE")) {
    log_ = requireDelta(target_, session, "ALTER TABLE");
    snapshot_ = log_->require();
    change_.metadata = snapshot_->metadata();
    schema_ = spreadStringBounds(snapshot_->schema());
    mapped_ = delta::columnMappingMode(change_.metadata) != delta::ColumnMappingMode::None;
    const AnalyzerContext context = session.analyzerContext();
    evaluator_ = makeSqlEvaluator(context.functions.timeZone, context.functions.ansi);
  }

  void run() {
    using Kind = sql::AlterTable::Kind;
    switch (statement_.kind) {
      case Kind::AddColumns:
        add();
        break;
      case Kind::ReplaceColumns:
        replace();
        break;
      case Kind::DropColumns:
        if (!drop()) return;
        break;
      case Kind::RenameColumn:
        rename();
        break;
      default:
        alter();
        break;
    }
    schema_ = gatherStringBounds(schema_);
    if (statement_.newType) schema_ = delta::withRecordedTypeChanges(*snapshot_->schema(), schema_);
    delta::checkNamesDiffer(*schema_);
    if (!mapped_) delta::checkColumnNames(*schema_);
    change_.metadata.schemaString = toSchemaJson(*schema_);
    commitMetadata(log_, snapshot_, std::move(change_));
  }

 private:
  void changeFields(const sql::Name& parent, const SiblingsChange& change) {
    schema_ = withChangedFields(schema_, parent, change);
  }

  StructField fieldOf(const sql::ColumnDefinition& column) const {
    const std::string name = quotedName(column.name);
    if (column.defaultExpression) {
      throw Error("WRONG_COLUMN_DEFAULTS_FOR_DELTA_ALTER_TABLE_ADD_COLUMN_NOT_SUPPORTED",
                  "The new column " + name +
                      " cannot have a default: the rows that are there have none. Add it, then ALTER COLUMN "
                      "… SET DEFAULT.",
                  {});
    }
    if (column.generationExpression || column.identity)
      throw unsupported("adding the generated column " + name);
    if (!column.nullable)
      throw unsupported("adding the column " + name + " as NOT NULL (rows that are there have none)");
    StructField field{column.name.back(), column.type, true, "{}"};
    field.metadata = withStringBounds(field.metadata, *field.type, column.bounds);
    if (column.name.size() > 1)
      field.type = spreadStringBounds(DataType::structOf({field}))->fields()[0].type;
    if (column.comment)
      field.metadata =
          withMetadataKey(field.metadata, "comment", toJsonText(nlohmann::json(*column.comment)));
    return field;
  }

  void add() {
    nlohmann::ordered_json said = nlohmann::ordered_json::array();
    for (const sql::ColumnDefinition& column : statement_.columns) {
      const StructField field = fieldOf(column);
      changeFields(parentOf(column.name), [&](std::vector<StructField>* siblings) {
        for (const StructField& other : *siblings) {
          if (!equalsIgnoreCase(other.name, field.name)) continue;
          throw Error("FIELD_ALREADY_EXISTS", "There is a column " + quotedName(column.name) + " already.",
                      {{"op", "add"}, {"fieldNames", quotedName(column.name)}, {"struct", ""}});
        }
        place(siblings, field, column.first, column.after, column.name);
      });
      nlohmann::ordered_json one = {{"column", columnJson(field, dotted(column.name))}};
      if (const auto position = positionText(column.first, column.after)) one["position"] = *position;
      said.push_back(std::move(one));
    }
    change_.operation.name = "ADD COLUMNS";
    change_.operation.parameters = {{"columns", delta::jsonText(toJsonText(said))}};
  }

  void replace() {
    std::vector<StructField> fields;
    nlohmann::ordered_json said = nlohmann::ordered_json::array();
    for (const sql::ColumnDefinition& column : statement_.columns) {
      StructField field = fieldOf(column);
      const int index = schema_->fieldIndex(field.name, /*caseSensitive=*/false);
      if (index >= 0) {
        const StructField& there = schema_->fields()[static_cast<size_t>(index)];
        if (!equals(*there.type, *field.type))
          throw unsupported("REPLACE COLUMNS that changes the type of " + field.name);
        if (hasBounds(column.bounds)) {
          throw Error("DELTA_UNSUPPORTED_ALTER_TABLE_REPLACE_COL_OP",
                      "REPLACE COLUMNS keeps the length of the column " + field.name +
                          ": declare it as STRING, and change the length by ALTER COLUMN … TYPE.",
                      {{"details", field.name},
                       {"oldSchema", schema_->simpleString()},
                       {"newSchema", boundedSqlString(*field.type, column.bounds)}});
        }
        const auto comment = metadataText(field.metadata, "comment");
        field = {field.name, there.type, there.nullable, withoutMetadataKey(there.metadata, "comment")};
        if (comment)
          field.metadata = withMetadataKey(field.metadata, "comment", toJsonText(nlohmann::json(*comment)));
      }
      said.push_back(columnJson(field, field.name));
      fields.push_back(std::move(field));
    }
    const SchemaPtr replaced = DataType::structOf(std::move(fields));
    for (const StructField& field : schema_->fields()) {
      if (replaced->fieldIndex(field.name, /*caseSensitive=*/false) < 0) checkCanGo({field.name});
    }
    schema_ = replaced;
    change_.operation.name = "REPLACE COLUMNS";
    change_.operation.parameters = {{"columns", delta::jsonText(toJsonText(said))}};
  }

  // Generated columns and constraints that name the column, or one around it.
  void refuseDependents(const sql::Name& path) const {
    const auto rule = delta::ruleNaming(change_.metadata, schema_, path[0], *evaluator_);
    if (!rule) return;
    if (!rule->isConstraint) {
      throw Error("DELTA_GENERATED_COLUMNS_DEPENDENT_COLUMN_CHANGE",
                  "The column " + dotted(path) + " cannot be changed: the generated column " + rule->name +
                      " is made of it.",
                  {{"columnName", dotted(path)}, {"generatedColumns", rule->name + " -> " + rule->sql}});
    }
    throw Error("DELTA_CONSTRAINT_DEPENDENT_COLUMN_CHANGE",
                "The column " + dotted(path) + " cannot be changed: the constraint " + rule->name +
                    " names it. Drop it first.",
                {{"columnName", dotted(path)}, {"constraints", rule->name + " -> " + rule->sql}});
  }

  bool isClusteringColumn(const sql::Name& path) const {
    for (const auto& column : delta::clusteringColumns(*snapshot_)) {
      if (column.size() >= path.size() &&
          std::equal(path.begin(), path.end(), column.begin(),
                     [](const auto& a, const auto& b) { return equalsIgnoreCase(a, b); }))
        return true;
    }
    return false;
  }

  void checkCanGo(const sql::Name& path) const {
    if (!mapped_) {
      throw Error("DELTA_UNSUPPORTED_DROP_COLUMN",
                  "A column can be dropped from a table with column mapping only: SET TBLPROPERTIES "
                  "('delta.columnMapping.mode' = 'name') first.",
                  {{"advice", ""}});
    }
    const auto& partitions = change_.metadata.partitionColumns;
    const bool partition =
        path.size() == 1 && std::any_of(partitions.begin(), partitions.end(),
                                        [&](const auto& name) { return equalsIgnoreCase(name, path[0]); });
    if (partition) {
      throw Error("DELTA_UNSUPPORTED_DROP_PARTITION_COLUMN",
                  "The table is partitioned by " + path[0] + ": the column cannot be dropped.",
                  {{"columnList", path[0]}});
    }
    if (isClusteringColumn(path)) {
      throw Error("DELTA_UNSUPPORTED_DROP_CLUSTERING_COLUMN",
                  "The table is clustered by " + dotted(path) +
                      ": cluster it by others before the column is dropped.",
                  {{"columnList", dotted(path)}});
    }
    refuseDependents(path);
  }

  // False where IF EXISTS left nothing to do.
  bool drop() {
    nlohmann::ordered_json said = nlohmann::ordered_json::array();
    for (const sql::Name& path : statement_.columnNames) {
      if (statement_.ifExists && !hasField(*schema_, path)) continue;
      checkCanGo(path);
      changeFields(parentOf(path), [&](std::vector<StructField>* siblings) {
        const size_t index = indexOf(*siblings, path.back(), path);
        if (siblings->size() == 1)
          throw unsupported("dropping the last column of " + quotedName(parentOf(path)));
        siblings->erase(siblings->begin() + static_cast<std::ptrdiff_t>(index));
      });
      said.push_back(dotted(path));
    }
    change_.operation.name = "DROP COLUMNS";
    change_.operation.parameters = {{"columns", delta::jsonText(toJsonText(said))}};
    return !said.empty();
  }

  void rename() {
    const sql::Name& path = statement_.columnNames[0];
    if (!mapped_) {
      throw Error("DELTA_UNSUPPORTED_RENAME_COLUMN",
                  "A column can be renamed in a table with column mapping only: SET TBLPROPERTIES "
                  "('delta.columnMapping.mode' = 'name') first.",
                  {{"advice", ""}});
    }
    refuseDependents(path);
    sql::Name renamed = parentOf(path);
    renamed.push_back(statement_.newName);
    changeFields(parentOf(path), [&](std::vector<StructField>* siblings) {
      const size_t index = indexOf(*siblings, path.back(), path);
      for (size_t i = 0; i < siblings->size(); ++i) {
        if (i == index || !equalsIgnoreCase((*siblings)[i].name, statement_.newName)) continue;
        throw Error("FIELD_ALREADY_EXISTS", "There is a column " + quotedName(renamed) + " already.",
                    {{"op", "rename"}, {"fieldNames", quotedName(renamed)}, {"struct", ""}});
      }
      (*siblings)[index].name = statement_.newName;
    });
    for (std::string& name : change_.metadata.partitionColumns) {
      if (path.size() == 1 && equalsIgnoreCase(name, path[0])) name = statement_.newName;
    }
    change_.operation.name = "RENAME COLUMN";
    change_.operation.parameters = {{"oldColumnPath", delta::jsonText(dotted(path))},
                                    {"newColumnPath", delta::jsonText(dotted(renamed))}};
  }

  void checkBounds(const StructField& field, const sql::Name& path) const {
    const DataType& type = *field.type;
    StringBounds from = stringBoundsOf(type, field.metadata);
    const StringBounds& to = statement_.newBounds;
    if (canChangeBounds(type, from, to)) return;
    from.resize(numStrings(type));
    const std::string before = boundedSqlString(type, from);
    const std::string after = boundedSqlString(type, to);
    throw Error("NOT_SUPPORTED_CHANGE_COLUMN",
                "The column " + dotted(path) + " is " + before + ": it cannot be made " + after +
                    ", for values that are there may be longer.",
                {{"table", target_.shownName()},
                 {"originName", quotedName(path)},
                 {"originType", "\"" + before + "\""},
                 {"newName", quotedName(path)},
                 {"newType", "\"" + after + "\""}});
  }

  void setDefault(StructField* field) {
    if (!delta::supportsFeature(snapshot_->protocol(), "allowColumnDefaults")) {
      throw Error("WRONG_COLUMN_DEFAULTS_FOR_DELTA_FEATURE_NOT_ENABLED",
                  "The table takes no defaults: SET TBLPROPERTIES ('delta.feature.allowColumnDefaults' = "
                  "'supported') first.",
                  {{"commandType", "ALTER TABLE"}});
    }
    evaluator_->compile(*statement_.setDefault, DataType::structOf({}), field->type);
    field->metadata = withMetadataKey(field->metadata, delta::kCurrentDefault,
                                      toJsonText(nlohmann::json(*statement_.setDefault)));
  }

  void change(StructField* field, const sql::Name& path) {
    if (statement_.newType) {
      checkBounds(*field, path);
      field->metadata = withStringBounds(field->metadata, *field->type, statement_.newBounds);
    }
    if (statement_.nullable == false && field->nullable) {
      throw Error("_LEGACY_ERROR_TEMP_2330",
                  "The column " + dotted(path) + " may be null: it cannot be made NOT NULL.",
                  {{"fieldName", dotted(path)}});
    }
    if (statement_.nullable) field->nullable = *statement_.nullable;
    if (statement_.comment)
      field->metadata =
          withMetadataKey(field->metadata, "comment", toJsonText(nlohmann::json(*statement_.comment)));
    if (statement_.setDefault) setDefault(field);
    if (statement_.dropDefault) field->metadata = withoutMetadataKey(field->metadata, delta::kCurrentDefault);
    if (!statement_.syncIdentity) return;
    syncIdentity(*snapshot_, field);
    change_.readsTable = true;
    change_.operation.tags.emplace_back("delta.identity.schemaUpdate", "true");
  }

  // An array's element, or a map's key or value, as the history names it.
  nlohmann::ordered_json elementJson(const sql::Name& path) const {
    bool nullable = false;
    withChangedType(schema_, parentOf(path), [&](const DataTypePtr& around) {
      nullable = around->containsNull() && !equalsIgnoreCase(path.back(), "key");
      return around;
    });
    return columnJson({path.back(), statement_.newType, nullable}, dotted(path));
  }

  void sayChanged(const nlohmann::ordered_json& column) {
    change_.operation.name = "CHANGE COLUMN";
    change_.operation.parameters = {{"column", delta::jsonText(toJsonText(column))}};
  }

  std::string boundedType() const {
    return hasBounds(statement_.newBounds) ? boundedSqlString(*statement_.newType, statement_.newBounds)
                                           : std::string();
  }

  void alter() {
    const sql::Name& path = statement_.columnNames[0];
    nlohmann::ordered_json said;
    if (statement_.newType) {
      schema_ =
          withWiderType(schema_, path, statement_.newType,
                        {target_.shownName(), delta::tableFlag(change_.metadata, delta::kEnableTypeWidening),
                         [&] { refuseDependents(path); }, boundedType()});
      if (!hasField(*schema_, path)) {
        if (hasBounds(statement_.newBounds))
          throw unsupported("ALTER COLUMN with a length of what lies in an array or a map");
        return sayChanged(elementJson(path));
      }
    }
    changeFields(parentOf(path), [&](std::vector<StructField>* siblings) {
      const size_t index = indexOf(*siblings, path.back(), path);
      StructField field = (*siblings)[index];
      change(&field, path);
      said = columnJson(field, dotted(path));
      if (!statement_.first && !statement_.after) {
        (*siblings)[index] = std::move(field);
        return;
      }
      siblings->erase(siblings->begin() + static_cast<std::ptrdiff_t>(index));
      place(siblings, std::move(field), statement_.first, statement_.after, path);
    });
    sayChanged(said);
    if (const auto position = positionText(statement_.first, statement_.after))
      change_.operation.parameters.emplace_back("position", delta::jsonText(*position));
  }

  const sql::AlterTable& statement_;
  TableTarget target_;
  std::shared_ptr<delta::DeltaLog> log_;
  delta::SnapshotPtr snapshot_;
  MetadataChange change_;
  SchemaPtr schema_;
  bool mapped_ = false;
  std::shared_ptr<const delta::ExpressionEvaluator> evaluator_;
};

}  // namespace

void alterColumns(const sql::AlterTable& statement, CommandSession& session) {
  ColumnChange(statement, session).run();
}

}  // namespace thalweg
