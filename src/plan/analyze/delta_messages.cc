#include "plan/analyze/delta_messages.h"

#include <delta/connect/commands.pb.h>
#include <delta/connect/relations.pb.h>
#include <fmt/format.h>
#include <spark/connect/expressions.pb.h>
#include <spark/connect/relations.pb.h>

#include "common/error.h"
#include "plan/analyze/attribute_name.h"
#include "plan/analyze/proto_types.h"
#include "sql/parser.h"

namespace thalweg {
namespace {

namespace proto = ::delta::connect;
using Relation = proto::DeltaRelation;
using Command = proto::DeltaCommand;

sql::Name pathName(const std::string& path) {
  return {"delta", path};
}

sql::Name nameOf(const proto::DeltaTable& table) {
  if (table.has_table_or_view_name()) return sql::parseTableName(table.table_or_view_name());
  if (!table.has_path())
    throw Error("CONNECT_INVALID_PLAN.FIELD_NOT_SET", "The message of a Delta table names none.");
  if (table.path().hadoop_conf_size() > 0)
    throw unsupported("DeltaTable.forPath with options of a file system");
  return pathName(table.path().path());
}

sql::ExpressionPtr moved(spark::connect::Expression* expression) {
  auto owned = sql::ExpressionPtr(new spark::connect::Expression);
  owned->Swap(expression);
  return owned;
}

// The table that DELETE and UPDATE change: a scan, perhaps under an alias.
struct Target {
  sql::Name table;
  std::string alias;
};

Target targetOf(const spark::connect::Relation& relation) {
  if (relation.has_subquery_alias())
    return {targetOf(relation.subquery_alias().input()).table, relation.subquery_alias().alias()};
  Relation inner;
  if (relation.has_extension() && sql::unpackExtension(relation.extension(), &inner) && inner.has_scan())
    return {nameOf(inner.scan().table()), ""};
  throw Error("CONNECT_INVALID_PLAN.INPUT_NOT_SET",
              "A Delta table is deleted from or updated, not a query over one.");
}

sql::Delete deletion(proto::DeleteFromTable& message) {
  auto [table, alias] = targetOf(message.target());
  sql::Delete statement{std::move(table), std::move(alias)};
  if (message.has_condition()) statement.condition = moved(message.mutable_condition());
  return statement;
}

sql::Update update(proto::UpdateTable& message) {
  auto [table, alias] = targetOf(message.target());
  sql::Update statement{std::move(table), std::move(alias)};
  if (message.has_condition()) statement.condition = moved(message.mutable_condition());
  for (proto::Assignment& assignment : *message.mutable_assignments()) {
    const auto& column = assignment.field().unresolved_attribute().unparsed_identifier();
    statement.assignments.push_back({parseAttributeName(column), moved(assignment.mutable_value())});
  }
  return statement;
}

// Several filters hold together.
sql::Optimize optimization(const proto::OptimizeTable& message) {
  sql::Optimize statement{nameOf(message.table())};
  for (const std::string& filter : message.partition_filters()) {
    statement.conditionText += (statement.conditionText.empty() ? "(" : " AND (") + filter + ")";
  }
  if (message.partition_filters_size() == 1) statement.conditionText = message.partition_filters(0);
  if (!statement.conditionText.empty()) {
    statement.condition = sql::ExpressionPtr(new spark::connect::Expression);
    sql::parseExpression(statement.conditionText, statement.condition.get());
  }
  for (const std::string& column : message.zorder_columns())
    statement.zorderBy.push_back(parseAttributeName(column));
  return statement;
}

sql::Restore restore(const proto::RestoreTable& message) {
  sql::Restore statement{nameOf(message.table())};
  if (message.has_version())
    statement.to.version = std::to_string(message.version());
  else
    statement.to.timestamp = message.timestamp();
  return statement;
}

sql::ColumnDefinition columnOf(const proto::CreateDeltaTable::Column& message) {
  sql::ColumnDefinition column{{message.name()}, fromProtoType(message.data_type()), message.nullable()};
  if (message.has_comment()) column.comment = message.comment();
  if (message.has_generated_always_as()) column.generationExpression = message.generated_always_as();
  if (message.has_identity_info()) {
    const auto& identity = message.identity_info();
    column.identity = {!identity.allow_explicit_insert(), identity.start(), identity.step()};
  }
  return column;
}

sql::CreateTable creation(const proto::CreateDeltaTable& message) {
  using Create = proto::CreateDeltaTable;
  sql::CreateTable statement;
  statement.ifNotExists = message.mode() == Create::MODE_CREATE_IF_NOT_EXISTS;
  statement.orReplace = message.mode() == Create::MODE_CREATE_OR_REPLACE;
  statement.replaceOnly = message.mode() == Create::MODE_REPLACE;
  statement.provider = "delta";
  if (message.has_table_name()) {
    statement.table = sql::parseTableName(message.table_name());
    if (message.has_location()) statement.location = message.location();
  } else if (message.has_location()) {
    statement.table = pathName(message.location());
  } else {
    throw Error("DELTA_CREATE_TABLE_MISSING_TABLE_NAME_OR_LOCATION",
                "A new Delta table needs tableName(), location(), or both.");
  }
  if (message.has_comment()) statement.comment = message.comment();
  for (const auto& column : message.columns()) statement.columns.push_back(columnOf(column));
  for (const auto& column : message.partitioning_columns())
    statement.partitionedBy.push_back({"identity", {column}});
  for (const auto& column : message.clustering_columns())
    statement.clusterBy.push_back(parseAttributeName(column));
  for (const auto& [key, value] : message.properties()) statement.properties.emplace_back(key, value);
  return statement;
}

sql::AlterTable alteration(const proto::DeltaTable& table, sql::AlterTable::Kind kind) {
  sql::AlterTable statement{nameOf(table)};
  statement.kind = kind;
  return statement;
}

sql::AlterTable protocolUpgrade(const proto::UpgradeTableProtocol& message) {
  auto statement = alteration(message.table(), sql::AlterTable::Kind::SetProperties);
  statement.properties = {{"delta.minReaderVersion", std::to_string(message.reader_version())},
                          {"delta.minWriterVersion", std::to_string(message.writer_version())}};
  return statement;
}

sql::AlterTable featureAddition(const proto::AddFeatureSupport& message) {
  auto statement = alteration(message.table(), sql::AlterTable::Kind::SetProperties);
  statement.properties = {{"delta.feature." + message.feature_name(), "supported"}};
  return statement;
}

sql::AlterTable featureRemoval(const proto::DropFeatureSupport& message) {
  auto statement = alteration(message.table(), sql::AlterTable::Kind::DropFeature);
  statement.constraint = message.feature_name();
  statement.truncateHistory = message.truncate_history();
  return statement;
}

sql::Vacuum vacuum(const proto::VacuumTable& message) {
  sql::Vacuum statement{nameOf(message.table())};
  if (message.has_retention_hours()) statement.retainHours = message.retention_hours();
  return statement;
}

}  // namespace

DeltaStatement deltaStatement(Relation& relation) {
  switch (relation.relation_type_case()) {
    case Relation::kDescribeHistory:
      return {sql::DescribeHistory{nameOf(relation.describe_history().table())}, "DESCRIBE HISTORY"};
    case Relation::kDescribeDetail:
      return {sql::DescribeDetail{nameOf(relation.describe_detail().table())}, "DESCRIBE DETAIL"};
    case Relation::kRestoreTable:
      return {restore(relation.restore_table()), "RESTORE"};
    case Relation::kDeleteFromTable:
      return {deletion(*relation.mutable_delete_from_table()), "DELETE"};
    case Relation::kUpdateTable:
      return {update(*relation.mutable_update_table()), "UPDATE"};
    case Relation::kOptimizeTable:
      return {optimization(relation.optimize_table()), "OPTIMIZE"};
    case Relation::kMergeIntoTable:
      throw unsupported("DeltaTable.merge (MERGE INTO)");
    case Relation::kConvertToDelta:
      throw unsupported("DeltaTable.convertToDelta (CONVERT TO DELTA)");
    default:
      throw Error("CONNECT_INVALID_PLAN.RELATION_NOT_SET",
                  "Delta's relation asks for nothing that this server knows.");
  }
}

DeltaStatement deltaStatement(const google::protobuf::Any& message) {
  Command command;
  if (!sql::unpackExtension(message, &command)) {
    throw Error("CONNECT_INVALID_PLAN.COMMAND_NOT_SET",
                "The plan has a command in an extension that this server does not know.");
  }
  switch (command.command_type_case()) {
    case Command::kVacuumTable:
      return {vacuum(command.vacuum_table()), "VACUUM"};
    case Command::kUpgradeTableProtocol:
      return {protocolUpgrade(command.upgrade_table_protocol()), "ALTER TABLE"};
    case Command::kCreateDeltaTable:
      return {creation(command.create_delta_table()), "CREATE TABLE"};
    case Command::kAddFeatureSupport:
      return {featureAddition(command.add_feature_support()), "ALTER TABLE"};
    case Command::kDropFeatureSupport:
      return {featureRemoval(command.drop_feature_support()), "ALTER TABLE … DROP FEATURE"};
    case Command::kCloneTable:
      throw unsupported("DeltaTable.clone (CREATE TABLE … CLONE)");
    case Command::kGenerate:
      throw unsupported("DeltaTable.generate (manifests of symlinks)");
    default:
      throw Error("CONNECT_INVALID_PLAN.COMMAND_NOT_SET",
                  "Delta's command asks for nothing that this server knows.");
  }
}

bool changesTable(const Relation& relation) {
  switch (relation.relation_type_case()) {
    case Relation::kScan:
    case Relation::kDescribeHistory:
    case Relation::kDescribeDetail:
    case Relation::kIsDeltaTable:
      return false;
    default:
      return true;
  }
}

std::optional<sql::Name> scannedTable(const Relation& relation) {
  if (!relation.has_scan()) return std::nullopt;
  return nameOf(relation.scan().table());
}

}  // namespace thalweg
