#include "delta/log/version_checksum.h"

#include <simdjson.h>

#include "common/error.h"
#include "common/logging.h"
#include "delta/actions/action_reader.h"
#include "delta/actions/action_writer.h"
#include "delta/log/log_files.h"

namespace thalweg::delta {
namespace {

namespace dom = simdjson::dom;

template <typename Value>
void appendArray(std::string& out, std::string_view name, const std::vector<Value>& values) {
  out += ",\"";
  out += name;
  out += "\":[";
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out += ',';
    appendJson(out, values[i]);
  }
  out += ']';
}

// The action reader knows how to read each object; here its line form is rebuilt around the object's text.
template <typename Value>
bool readAs(std::string_view actionName, dom::element value, Value& out) {
  bool found = false;
  const std::string line = "{\"" + std::string(actionName) + "\":" + std::string(simdjson::minify(value)) + "}";
  readActions(line, "crc", [&](Action&& action) {
    if (auto* typed = std::get_if<Value>(&action)) {
      out = std::move(*typed);
      found = true;
    }
  });
  return found;
}

template <typename Value>
std::optional<std::vector<Value>> readArray(std::string_view actionName, const dom::object& object, const char* name) {
  dom::array array;
  if (object[name].get(array)) return std::nullopt;
  std::vector<Value> values;
  for (const dom::element element : array) {
    Value value;
    if (readAs(actionName, element, value)) values.push_back(std::move(value));
  }
  return values;
}

std::optional<VersionChecksum> readObject(const dom::object& object) {
  VersionChecksum checksum;
  dom::element metadata;
  dom::element protocol;
  if (object["tableSizeBytes"].get(checksum.tableSizeBytes) || object["numFiles"].get(checksum.numFiles)) {
    return std::nullopt;
  }
  if (object["metadata"].get(metadata) || object["protocol"].get(protocol)) return std::nullopt;
  if (!readAs("metaData", metadata, checksum.metadata)) return std::nullopt;
  if (!readAs("protocol", protocol, checksum.protocol)) return std::nullopt;
  std::string_view txnId;
  if (!object["txnId"].get(txnId)) checksum.txnId = std::string(txnId);
  int64_t timestamp = 0;
  if (!object["inCommitTimestampOpt"].get(timestamp)) checksum.inCommitTimestamp = timestamp;
  checksum.setTransactions = readArray<SetTransaction>("txn", object, "setTransactions");
  checksum.domainMetadata = readArray<DomainMetadata>("domainMetadata", object, "domainMetadata");
  return checksum;
}

}  // namespace

std::string toChecksumJson(const VersionChecksum& checksum) {
  std::string out = "{";
  if (checksum.txnId) {
    out += "\"txnId\":";
    appendJsonString(out, *checksum.txnId);
    out += ',';
  }
  out += "\"tableSizeBytes\":" + std::to_string(checksum.tableSizeBytes);
  out += ",\"numFiles\":" + std::to_string(checksum.numFiles);
  out += ",\"numMetadata\":1,\"numProtocol\":1";
  if (checksum.inCommitTimestamp) out += ",\"inCommitTimestampOpt\":" + std::to_string(*checksum.inCommitTimestamp);
  if (checksum.setTransactions && checksum.setTransactions->size() <= kMaxChecksumTransactions) {
    appendArray(out, "setTransactions", *checksum.setTransactions);
  }
  if (checksum.domainMetadata && checksum.domainMetadata->size() <= kMaxChecksumDomains) {
    appendArray(out, "domainMetadata", *checksum.domainMetadata);
  }
  out += ",\"metadata\":";
  appendJson(out, checksum.metadata);
  out += ",\"protocol\":";
  appendJson(out, checksum.protocol);
  return out + "}";
}

std::optional<VersionChecksum> parseChecksum(std::string_view json) {
  dom::parser parser;
  dom::object object;
  if (parser.allocate(0, 128) || parser.parse(json.data(), json.size()).get(object)) return std::nullopt;
  try {
    return readObject(object);
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::optional<VersionChecksum> readChecksum(FileSystem& fileSystem, const std::string& logPath, int64_t version) {
  const std::string path = logPath + "/" + checksumFileName(version);
  try {
    auto checksum = parseChecksum(fileSystem.readAll(path));
    if (!checksum) logWarn("The version checksum {} is skipped: it is damaged.", path);
    return checksum;
  } catch (const Error& error) {
    if (error.condition() != "PATH_NOT_FOUND") logWarn("The version checksum {} is skipped: {}", path, error.message());
    return std::nullopt;
  }
}

void writeChecksum(FileSystem& fileSystem, const std::string& logPath, int64_t version,
                   const VersionChecksum& checksum) {
  fileSystem.putIfAbsent(logPath + "/" + checksumFileName(version), toChecksumJson(checksum));
}

}  // namespace thalweg::delta
