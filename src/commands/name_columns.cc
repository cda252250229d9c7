#include "commands/name_columns.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "commands/table_target.h"
#include "commands/views.h"
#include "common/error.h"
#include "delta/snapshot/table_features.h"

namespace thalweg {
namespace {

delta::SnapshotPtr snapshotOf(const TableEntry& entry, CommandSession& session) {
  return session.deltaLog(session.formats().fileSystems().resolve(entry.location))->update();
}

}  // namespace

bool NameColumns::isPartition(const std::string& column) const {
  return std::any_of(partitionedBy.begin(), partitionedBy.end(),
                     [&](const std::string& one) { return equalsIgnoreCase(one, column); });
}

NameColumns columnsOfName(const sql::Name& name, CommandSession& session) {
  if (const LogicalPtr view = findTemporaryView(name, session))
    return {schemaOf(*view), {}, std::nullopt, true};
  auto entry = findEntry(name, session);
  if (entry && entry->isView()) return {viewColumns(*entry), {}, entry, false};
  TableColumns columns = columnsOf(requireTable(name, session, "DESCRIBE"), session);
  return {std::move(columns.schema), std::move(columns.partitionedBy), std::move(entry), false};
}

std::optional<std::string> columnComment(const StructField& field) {
  const auto json = nlohmann::json::parse(field.metadata, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  const auto it = json.find("comment");
  if (it == json.end() || !it->is_string()) return std::nullopt;
  return it->get<std::string>();
}

std::map<std::string, std::string> tableProperties(const TableEntry& entry, CommandSession& session) {
  if (!entry.isDelta()) return entry.properties;
  const auto snapshot = snapshotOf(entry, session);
  return snapshot ? tableProperties(*snapshot) : std::map<std::string, std::string>();
}

std::map<std::string, std::string> tableProperties(const delta::Snapshot& snapshot) {
  std::map<std::string, std::string> properties = snapshot.metadata().configuration;
  const delta::Protocol& protocol = snapshot.protocol();
  properties["delta.minReaderVersion"] = std::to_string(protocol.minReaderVersion);
  properties["delta.minWriterVersion"] = std::to_string(protocol.minWriterVersion);
  for (const auto& features : {protocol.readerFeatures, protocol.writerFeatures}) {
    if (!features) continue;
    for (const std::string& feature : *features) properties["delta.feature." + feature] = "supported";
  }
  return properties;
}

std::optional<std::string> tableComment(const TableEntry& entry, CommandSession& session) {
  if (!entry.isDelta()) return entry.comment;
  const auto snapshot = snapshotOf(entry, session);
  return snapshot ? snapshot->metadata().description : std::nullopt;
}

}  // namespace thalweg
