#include "delta/log/checkpoint_hint.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include <openssl/evp.h>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/json_text.h"
#include "common/logging.h"
#include "delta/actions/action_writer.h"
#include "delta/log/log_files.h"

namespace thalweg::delta {
namespace {

using Json = nlohmann::ordered_json;

// A hint of Spark stays below 20,000 characters of schema plus 30 actions; a foreign file may be anything.
constexpr size_t kMaxHintBytes = 16 << 20;
constexpr int kMaxDepth = 64;

std::optional<Json> parseObject(std::string_view text) {
  if (text.size() > kMaxHintBytes) return std::nullopt;
  Json json = parseOrderedJson(text, kMaxDepth);
  if (!json.is_object()) return std::nullopt;
  return json;
}

std::string encoded(std::string_view text) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string out = "\"";
  for (const unsigned char c : text) {
    const bool unreserved = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                            c == '-' || c == '.' || c == '_' || c == '~';
    if (unreserved) {
      out += static_cast<char>(c);
    } else {
      out += '%';
      out += kHex[c >> 4];
      out += kHex[c & 15];
    }
  }
  return out + '"';
}

// One text a leaf: the path's parts joined by '+', then '=' and the value.
void collectLeaves(const Json& value, const std::string& path, std::vector<std::string>& leaves) {
  const std::string prefix = path.empty() ? "" : path + "+";
  if (value.is_object()) {
    for (const auto& [name, child] : value.items()) {
      if (path.empty() && name == "checksum") continue;
      collectLeaves(child, prefix + encoded(name), leaves);
    }
  } else if (value.is_array()) {
    for (size_t i = 0; i < value.size(); ++i) collectLeaves(value[i], prefix + std::to_string(i), leaves);
  } else if (value.is_string()) {
    leaves.push_back(path + "=" + encoded(value.get_ref<const std::string&>()));
  } else {
    leaves.push_back(path + "=" + value.dump());
  }
}

std::string md5Hex(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &length, EVP_md5(), nullptr) != 1) {
    throw internalError("The cryptography library offers no MD5.");
  }
  std::string hex;
  for (unsigned int i = 0; i < length; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

std::string checksumOf(const Json& object) {
  std::vector<std::string> leaves;
  collectLeaves(object, "", leaves);
  std::sort(leaves.begin(), leaves.end());
  std::string canonical;
  for (const std::string& leaf : leaves) {
    if (!canonical.empty()) canonical += ',';
    canonical += leaf;
  }
  return md5Hex(canonical);
}

Json topLevelJson(const TopLevelHint& hint) {
  constexpr size_t kMaxRepeated = 30;
  Json object;
  object["path"] = hint.path;
  object["sizeInBytes"] = hint.sizeInBytes;
  object["modificationTime"] = hint.modificationTime;
  if (hint.nonFileActions.size() <= kMaxRepeated) {
    Json actions = Json::array();
    for (const std::string& line : hint.nonFileActions) actions.push_back(parseOrderedJson(line, kMaxDepth));
    object["nonFileActions"] = std::move(actions);
  }
  if (hint.sidecars.size() <= kMaxRepeated) {
    Json sidecars = Json::array();
    for (const Sidecar& sidecar : hint.sidecars)
      sidecars.push_back(parseOrderedJson(toSidecarJson(sidecar), kMaxDepth));
    object["sidecarFiles"] = std::move(sidecars);
  }
  return object;
}

std::optional<int64_t> longField(const Json& object, const char* name) {
  const auto it = object.find(name);
  if (it == object.end() || !it->is_number_integer()) return std::nullopt;
  if (it->is_number_unsigned() &&
      it->get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return std::nullopt;
  }
  return it->get<int64_t>();
}

}  // namespace

std::optional<std::string> checkpointHintChecksum(std::string_view json) {
  const auto object = parseObject(json);
  if (!object) return std::nullopt;
  return checksumOf(*object);
}

std::optional<CheckpointHint> parseCheckpointHint(std::string_view json) {
  const auto object = parseObject(json);
  if (!object) return std::nullopt;
  const auto version = longField(*object, "version");
  if (!version || *version < 0) return std::nullopt;
  if (const auto it = object->find("checksum"); it != object->end() && it->is_string()) {
    if (it->get_ref<const std::string&>() != checksumOf(*object)) return std::nullopt;
  }
  CheckpointHint hint;
  hint.version = *version;
  hint.size = longField(*object, "size").value_or(0);
  if (const auto parts = longField(*object, "parts"); parts && *parts > 0 && *parts <= 1 << 30) {
    hint.parts = static_cast<int32_t>(*parts);
  }
  hint.sizeInBytes = longField(*object, "sizeInBytes");
  hint.numOfAddFiles = longField(*object, "numOfAddFiles");
  return hint;
}

std::string toCheckpointHintJson(const CheckpointHint& hint) {
  Json object;
  object["version"] = hint.version;
  object["size"] = hint.size;
  if (hint.parts) object["parts"] = *hint.parts;
  if (hint.sizeInBytes) object["sizeInBytes"] = *hint.sizeInBytes;
  if (hint.numOfAddFiles) object["numOfAddFiles"] = *hint.numOfAddFiles;
  if (hint.v2) object["v2Checkpoint"] = topLevelJson(*hint.v2);
  object["checksum"] = checksumOf(object);
  return toJsonText(object);
}

std::optional<CheckpointHint> readCheckpointHint(FileSystem& fileSystem, const std::string& logPath) {
  const std::string path = logPath + "/" + std::string(kLastCheckpointName);
  std::string text;
  try {
    text = fileSystem.readAll(path);
  } catch (const Error& error) {
    if (error.condition() != "PATH_NOT_FOUND")
      logWarn("The checkpoint hint {} is skipped: {}", path, error.message());
    return std::nullopt;
  }
  auto hint = parseCheckpointHint(text);
  if (!hint) logWarn("The checkpoint hint {} is skipped: it is damaged or its checksum does not hold.", path);
  return hint;
}

void writeCheckpointHint(FileSystem& fileSystem, const std::string& logPath, const CheckpointHint& hint) {
  fileSystem.writeAtomically(logPath + "/" + std::string(kLastCheckpointName), toCheckpointHintJson(hint));
}

}  // namespace thalweg::delta
