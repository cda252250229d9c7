#include "sources/delta/schema_log_entry.h"

#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/error.h"
#include "delta/actions/action_reader.h"
#include "delta/actions/action_writer.h"
#include "types/schema_json.h"

namespace thalweg {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kHeader = "v1\n";

[[noreturn]] void throwDamaged(const std::string& place) {
  throw Error(
      "DELTA_STREAMING_SCHEMA_LOG_DESERIALIZE_FAILED",
      "The file " + place +
          " does not hold the schema of a Delta stream: it is damaged, or of a newer Delta. Restore it, or "
          "set another schemaTrackingLocation.",
      {{"location", place}});
}

std::string requiredText(const Json& entry, const char* name, const std::string& place) {
  const auto value = entry.find(name);
  if (value == entry.end() || !value->is_string()) throwDamaged(place);
  return value->get<std::string>();
}

std::optional<int64_t> number(const Json& entry, const char* name, const std::string& place) {
  const auto value = entry.find(name);
  if (value == entry.end() || value->is_null()) return std::nullopt;
  if (!value->is_number_integer()) throwDamaged(place);
  if (value->is_number_unsigned() && value->get<uint64_t>() > INT64_MAX) throwDamaged(place);
  return value->get<int64_t>();
}

std::optional<std::map<std::string, std::string>> configurationOf(const Json& entry,
                                                                  const std::string& place) {
  const auto value = entry.find("tableConfigurations");
  if (value == entry.end() || value->is_null()) return std::nullopt;
  if (!value->is_object()) throwDamaged(place);
  std::map<std::string, std::string> configuration;
  for (const auto& [key, text] : value->items()) {
    if (!text.is_string()) throwDamaged(place);
    configuration.emplace(key, text.get<std::string>());
  }
  return configuration;
}

std::optional<delta::Protocol> protocolOf(const Json& entry, const std::string& place) {
  const auto value = entry.find("protocolJson");
  if (value == entry.end() || value->is_null()) return std::nullopt;
  if (!value->is_string()) throwDamaged(place);
  std::vector<delta::Action> actions = delta::readActions(value->get<std::string>(), place);
  if (actions.size() != 1 || !std::holds_alternative<delta::Protocol>(actions[0])) throwDamaged(place);
  return std::get<delta::Protocol>(std::move(actions[0]));
}

SchemaPtr parseStruct(const std::string& json) {
  try {
    const DataTypePtr type = parseSchemaJson(json);
    if (type->id() == TypeId::Struct) return type;
  } catch (const Error&) {
  }
  throw Error("DELTA_STREAMING_SCHEMA_LOG_PARSE_SCHEMA_FAILED",
              "The schema log of a Delta stream holds a text that is no schema: it is damaged. Restore it, "
              "or set another "
              "schemaTrackingLocation.");
}

class EntryWriter {
 public:
  explicit EntryWriter(std::string& out) : out_(out) { out_ += '{'; }
  void text(const char* name, std::string_view value) {
    begin(name);
    delta::appendJsonString(out_, value);
  }
  void number(const char* name, int64_t value) {
    begin(name);
    out_ += std::to_string(value);
  }
  void texts(const char* name, const std::map<std::string, std::string>& values) {
    begin(name);
    EntryWriter inner(out_);
    for (const auto& [key, value] : values) inner.text(key.c_str(), value);
    inner.end();
  }
  void end() { out_ += '}'; }

 private:
  void begin(const char* name) {
    if (!first_) out_ += ',';
    first_ = false;
    delta::appendJsonString(out_, name);
    out_ += ':';
  }
  std::string& out_;
  bool first_ = true;
};

}  // namespace

std::string partitionSchemaJson(const delta::Metadata& metadata) {
  const SchemaPtr schema = metadata.schema();
  std::vector<StructField> fields;
  for (const std::string& name : metadata.partitionColumns) {
    const int index = schema->fieldIndex(name);
    if (index >= 0) fields.push_back(schema->fields()[static_cast<size_t>(index)]);
  }
  return toSchemaJson(*DataType::structOf(std::move(fields)));
}

SchemaLogEntry SchemaLogEntry::of(int64_t commitVersion, const delta::Metadata& metadata,
                                  const delta::Protocol& protocol, std::string sourceFolder) {
  SchemaLogEntry entry;
  entry.tableId = metadata.id;
  entry.commitVersion = commitVersion;
  entry.dataSchemaJson = toSchemaJson(*metadata.schema());
  entry.partitionSchemaJson = ::thalweg::partitionSchemaJson(metadata);
  entry.sourceFolder = std::move(sourceFolder);
  entry.configuration = metadata.configuration;
  entry.protocol = protocol;
  return entry;
}

std::string SchemaLogEntry::toText() const {
  std::string out(kHeader);
  EntryWriter object(out);
  object.text("tableId", tableId);
  object.number("deltaCommitVersion", commitVersion);
  object.text("dataSchemaJson", dataSchemaJson);
  object.text("partitionSchemaJson", partitionSchemaJson);
  object.text("sourceMetadataPath", sourceFolder);
  if (configuration) object.texts("tableConfigurations", *configuration);
  if (protocol) object.text("protocolJson", delta::toJsonLine(*protocol));
  if (previousEntry) object.number("previousMetadataSeqNum", *previousEntry);
  object.end();
  return out;
}

SchemaLogEntry SchemaLogEntry::parse(std::string_view text, const std::string& place) {
  if (!text.starts_with(kHeader)) throwDamaged(place);
  text.remove_prefix(kHeader.size());
  const Json json = Json::parse(text.substr(0, text.find('\n')), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) throwDamaged(place);
  SchemaLogEntry entry;
  entry.tableId = requiredText(json, "tableId", place);
  const auto version = number(json, "deltaCommitVersion", place);
  if (!version || *version < 0 || *version > INT64_MAX - 2) throwDamaged(place);
  entry.commitVersion = *version;
  entry.dataSchemaJson = requiredText(json, "dataSchemaJson", place);
  entry.partitionSchemaJson = requiredText(json, "partitionSchemaJson", place);
  entry.sourceFolder = requiredText(json, "sourceMetadataPath", place);
  entry.configuration = configurationOf(json, place);
  entry.protocol = protocolOf(json, place);
  entry.previousEntry = number(json, "previousMetadataSeqNum", place);
  return entry;
}

StreamedMetadata SchemaLogEntry::over(const StreamedMetadata& table) const {
  StreamedMetadata read = table;
  read.version = commitVersion;
  read.schema = parseStruct(dataSchemaJson);
  read.metadata.schemaString = dataSchemaJson;
  read.metadata.partitionColumns.clear();
  const SchemaPtr partitionSchema = parseStruct(partitionSchemaJson);
  for (const StructField& field : partitionSchema->fields())
    read.metadata.partitionColumns.push_back(field.name);
  if (configuration) read.metadata.configuration = *configuration;
  if (protocol) read.protocol = *protocol;
  return read;
}

}  // namespace thalweg
