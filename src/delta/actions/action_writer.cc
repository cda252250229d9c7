#include "delta/actions/action_writer.h"

#include "common/json_text.h"

namespace thalweg::delta {
namespace {

bool isPlain(std::string_view text) {
  for (const unsigned char c : text) {
    if (c < 0x20 || c >= 0x7F || c == '"' || c == '\\') return false;
  }
  return true;
}

// Writes one object's fields; absent optionals are skipped, as Spark does.
class ObjectWriter {
 public:
  explicit ObjectWriter(std::string& out) : out_(out) { out_ += '{'; }
  ~ObjectWriter() { out_ += '}'; }
  ObjectWriter(const ObjectWriter&) = delete;
  ObjectWriter& operator=(const ObjectWriter&) = delete;

  std::string& key(std::string_view name) {
    if (!first_) out_ += ',';
    first_ = false;
    appendJsonString(out_, name);
    out_ += ':';
    return out_;
  }
  void text(std::string_view name, std::string_view value) { appendJsonString(key(name), value); }
  void number(std::string_view name, int64_t value) { key(name) += std::to_string(value); }
  void flag(std::string_view name, bool value) { key(name) += value ? "true" : "false"; }
  void text(std::string_view name, const std::optional<std::string>& value) {
    if (value) text(name, std::string_view(*value));
  }
  template <typename Integer>
  void number(std::string_view name, const std::optional<Integer>& value) {
    if (value) number(name, static_cast<int64_t>(*value));
  }
  void strings(std::string_view name, const std::vector<std::string>& values) {
    key(name) += '[';
    for (size_t i = 0; i < values.size(); ++i) {
      if (i > 0) out_ += ',';
      appendJsonString(out_, values[i]);
    }
    out_ += ']';
  }
  void map(std::string_view name, const std::map<std::string, std::string>& values) {
    ObjectWriter object(key(name));
    for (const auto& [mapKey, value] : values) object.text(mapKey, std::string_view(value));
  }
  void tags(const std::map<std::string, std::string>& values) {
    if (!values.empty()) map("tags", values);
  }
  void partitionValues(const PartitionValues& values) {
    ObjectWriter object(key("partitionValues"));
    for (const auto& [column, value] : values) {
      if (value) {
        object.text(column, std::string_view(*value));
      } else {
        object.key(column) += "null";
      }
    }
  }
  void deletionVector(const std::optional<DeletionVector>& vector) {
    if (!vector) return;
    ObjectWriter object(key("deletionVector"));
    object.text("storageType", std::string_view(vector->storageType));
    object.text("pathOrInlineDv", std::string_view(vector->pathOrInlineDv));
    object.number("offset", vector->offset);
    object.number("sizeInBytes", vector->sizeInBytes);
    object.number("cardinality", vector->cardinality);
    object.number("maxRowIndex", vector->maxRowIndex);
  }

 private:
  std::string& out_;
  bool first_ = true;
};

void appendJson(std::string& out, const AddFile& add) {
  ObjectWriter object(out);
  object.text("path", std::string_view(add.path));
  object.partitionValues(add.partitionValues);
  object.number("size", add.size);
  object.number("modificationTime", add.modificationTime);
  object.flag("dataChange", add.dataChange);
  object.text("stats", add.stats);
  object.tags(add.tags);
  object.deletionVector(add.deletionVector);
  object.number("baseRowId", add.baseRowId);
  object.number("defaultRowCommitVersion", add.defaultRowCommitVersion);
  object.text("clusteringProvider", add.clusteringProvider);
}

void appendJson(std::string& out, const RemoveFile& remove) {
  ObjectWriter object(out);
  object.text("path", std::string_view(remove.path));
  object.number("deletionTimestamp", remove.deletionTimestamp);
  object.flag("dataChange", remove.dataChange);
  if (remove.extendedFileMetadata) object.flag("extendedFileMetadata", *remove.extendedFileMetadata);
  if (remove.partitionValues) object.partitionValues(*remove.partitionValues);
  object.number("size", remove.size);
  object.tags(remove.tags);
  object.deletionVector(remove.deletionVector);
  object.number("baseRowId", remove.baseRowId);
  object.number("defaultRowCommitVersion", remove.defaultRowCommitVersion);
  object.text("stats", remove.stats);
}

void appendJson(std::string& out, const AddCdcFile& file) {
  ObjectWriter object(out);
  object.text("path", std::string_view(file.path));
  object.partitionValues(file.partitionValues);
  object.number("size", file.size);
  object.tags(file.tags);
  object.flag("dataChange", false);
}

void appendJson(std::string& out, const CommitInfo& info) {
  out += info.json;
}

const char* nameOf(const AddFile&) {
  return "add";
}
const char* nameOf(const RemoveFile&) {
  return "remove";
}
const char* nameOf(const AddCdcFile&) {
  return "cdc";
}
const char* nameOf(const Metadata&) {
  return "metaData";
}
const char* nameOf(const Protocol&) {
  return "protocol";
}
const char* nameOf(const SetTransaction&) {
  return "txn";
}
const char* nameOf(const DomainMetadata&) {
  return "domainMetadata";
}
const char* nameOf(const CommitInfo&) {
  return "commitInfo";
}

void appendLine(std::string& out, const Action& action) {
  std::visit(
      [&](const auto& value) {
        out += "{\"";
        out += nameOf(value);
        out += "\":";
        appendJson(out, value);
        out += '}';
      },
      action);
}

}  // namespace

void appendJsonString(std::string& out, std::string_view text) {
  if (isPlain(text)) {
    out += '"';
    out += text;
    out += '"';
    return;
  }
  out += quotedJson(text);
}

void appendJson(std::string& out, const Metadata& metadata) {
  ObjectWriter object(out);
  object.text("id", std::string_view(metadata.id));
  object.text("name", metadata.name);
  object.text("description", metadata.description);
  object.key("format") += R"({"provider":"parquet","options":{}})";
  object.text("schemaString", std::string_view(metadata.schemaString));
  object.strings("partitionColumns", metadata.partitionColumns);
  object.map("configuration", metadata.configuration);
  object.number("createdTime", metadata.createdTime);
}

void appendJson(std::string& out, const Protocol& protocol) {
  ObjectWriter object(out);
  object.number("minReaderVersion", protocol.minReaderVersion);
  object.number("minWriterVersion", protocol.minWriterVersion);
  if (protocol.readerFeatures) object.strings("readerFeatures", *protocol.readerFeatures);
  if (protocol.writerFeatures) object.strings("writerFeatures", *protocol.writerFeatures);
}

void appendJson(std::string& out, const SetTransaction& transaction) {
  ObjectWriter object(out);
  object.text("appId", std::string_view(transaction.appId));
  object.number("version", transaction.version);
  object.number("lastUpdated", transaction.lastUpdated);
}

void appendJson(std::string& out, const DomainMetadata& domain) {
  ObjectWriter object(out);
  object.text("domain", std::string_view(domain.domain));
  object.text("configuration", std::string_view(domain.configuration));
  object.flag("removed", domain.removed);
}

std::string toJsonLine(const Action& action) {
  std::string line;
  appendLine(line, action);
  return line;
}

std::string toSidecarJson(const Sidecar& sidecar) {
  std::string json = "{\"path\":";
  appendJsonString(json, sidecar.path);
  return json + ",\"sizeInBytes\":" + std::to_string(sidecar.sizeInBytes) +
         ",\"modificationTime\":" + std::to_string(sidecar.modificationTime) + "}";
}

std::string toCommitText(const std::vector<Action>& actions) {
  std::string text;
  for (const Action& action : actions) {
    appendLine(text, action);
    text += '\n';
  }
  return text;
}

}  // namespace thalweg::delta
