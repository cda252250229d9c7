#include "delta/actions/action_reader.h"

#include <limits>

#include <simdjson.h>

#include "common/error.h"

namespace thalweg::delta {
namespace {

namespace dom = simdjson::dom;

constexpr size_t kMaxDepth = 128;

// What is wrong with one line; the caller adds the file and the line's number.
struct Malformed {
  std::string what;
};

[[noreturn]] void malformed(std::string_view field, std::string_view expected) {
  throw Malformed{std::string(field) + " is not " + std::string(expected)};
}

std::string asString(std::string_view field, dom::element value) {
  std::string_view text;
  if (value.get(text)) malformed(field, "a string");
  return std::string(text);
}

int64_t asLong(std::string_view field, dom::element value) {
  int64_t number = 0;
  if (value.get(number)) malformed(field, "an integer of 64 bits");
  return number;
}

int32_t asInt(std::string_view field, dom::element value) {
  const int64_t number = asLong(field, value);
  if (number < std::numeric_limits<int32_t>::min() || number > std::numeric_limits<int32_t>::max()) {
    malformed(field, "an integer of 32 bits");
  }
  return static_cast<int32_t>(number);
}

bool asBool(std::string_view field, dom::element value) {
  bool flag = false;
  if (value.get(flag)) malformed(field, "true or false");
  return flag;
}

dom::object asObject(std::string_view field, dom::element value) {
  dom::object object;
  if (value.get(object)) malformed(field, "an object");
  return object;
}

PartitionValues asPartitionValues(std::string_view field, dom::element value) {
  PartitionValues values;
  for (const auto [key, element] : asObject(field, value)) {
    // An empty text stays: what it means depends on the column's type.
    std::optional<std::string> text;
    if (!element.is_null()) text = asString(field, element);
    values.insert_or_assign(std::string(key), std::move(text));
  }
  return values;
}

// Of numbers and flags among the values the text, as Spark's reader takes them.
std::map<std::string, std::string> asStringMap(std::string_view field, dom::element value) {
  std::map<std::string, std::string> map;
  for (const auto [key, element] : asObject(field, value)) {
    const bool isPlain = element.is_bool() || element.is_number();
    std::string text;
    if (isPlain) {
      text = simdjson::minify(element);
    } else if (!element.is_null()) {
      text = asString(field, element);
    }
    map.insert_or_assign(std::string(key), std::move(text));
  }
  return map;
}

std::vector<std::string> asStrings(std::string_view field, dom::element value) {
  dom::array array;
  if (value.get(array)) malformed(field, "an array");
  std::vector<std::string> strings;
  for (const dom::element element : array) strings.push_back(asString(field, element));
  return strings;
}

void require(bool present, std::string_view field) {
  if (!present) throw Malformed{std::string(field) + " is missing"};
}

DeletionVector asDeletionVector(std::string_view field, dom::element value) {
  DeletionVector vector;
  bool hasType = false;
  bool hasPath = false;
  for (const auto [key, element] : asObject(field, value)) {
    if (element.is_null()) continue;
    if (key == "storageType") {
      vector.storageType = asString(key, element);
      hasType = true;
    } else if (key == "pathOrInlineDv") {
      vector.pathOrInlineDv = asString(key, element);
      hasPath = true;
    } else if (key == "offset") {
      vector.offset = asInt(key, element);
    } else if (key == "sizeInBytes") {
      vector.sizeInBytes = asInt(key, element);
    } else if (key == "cardinality") {
      vector.cardinality = asLong(key, element);
    } else if (key == "maxRowIndex") {
      vector.maxRowIndex = asLong(key, element);
    }
  }
  require(hasType, "deletionVector.storageType");
  require(hasPath, "deletionVector.pathOrInlineDv");
  return vector;
}

AddFile readAdd(const dom::object& object) {
  AddFile add;
  bool hasPath = false;
  for (const auto [key, value] : object) {
    if (value.is_null()) continue;
    if (key == "path") {
      add.path = asString(key, value);
      hasPath = true;
    } else if (key == "partitionValues") {
      add.partitionValues = asPartitionValues(key, value);
    } else if (key == "size") {
      add.size = asLong(key, value);
    } else if (key == "modificationTime") {
      add.modificationTime = asLong(key, value);
    } else if (key == "dataChange") {
      add.dataChange = asBool(key, value);
    } else if (key == "stats") {
      add.stats = asString(key, value);
    } else if (key == "tags") {
      add.tags = asStringMap(key, value);
    } else if (key == "deletionVector") {
      add.deletionVector = asDeletionVector(key, value);
    } else if (key == "baseRowId") {
      add.baseRowId = asLong(key, value);
    } else if (key == "defaultRowCommitVersion") {
      add.defaultRowCommitVersion = asLong(key, value);
    } else if (key == "clusteringProvider") {
      add.clusteringProvider = asString(key, value);
    }
  }
  require(hasPath, "add.path");
  return add;
}

RemoveFile readRemove(const dom::object& object) {
  RemoveFile remove;
  bool hasPath = false;
  for (const auto [key, value] : object) {
    if (value.is_null()) continue;
    if (key == "path") {
      remove.path = asString(key, value);
      hasPath = true;
    } else if (key == "deletionTimestamp") {
      remove.deletionTimestamp = asLong(key, value);
    } else if (key == "dataChange") {
      remove.dataChange = asBool(key, value);
    } else if (key == "extendedFileMetadata") {
      remove.extendedFileMetadata = asBool(key, value);
    } else if (key == "partitionValues") {
      remove.partitionValues = asPartitionValues(key, value);
    } else if (key == "size") {
      remove.size = asLong(key, value);
    } else if (key == "stats") {
      remove.stats = asString(key, value);
    } else if (key == "tags") {
      remove.tags = asStringMap(key, value);
    } else if (key == "deletionVector") {
      remove.deletionVector = asDeletionVector(key, value);
    } else if (key == "baseRowId") {
      remove.baseRowId = asLong(key, value);
    } else if (key == "defaultRowCommitVersion") {
      remove.defaultRowCommitVersion = asLong(key, value);
    }
  }
  require(hasPath, "remove.path");
  return remove;
}

AddCdcFile readCdc(const dom::object& object) {
  AddCdcFile file;
  bool hasPath = false;
  for (const auto [key, value] : object) {
    if (value.is_null()) continue;
    if (key == "path") {
      file.path = asString(key, value);
      hasPath = true;
    } else if (key == "partitionValues") {
      file.partitionValues = asPartitionValues(key, value);
    } else if (key == "size") {
      file.size = asLong(key, value);
    } else if (key == "tags") {
      file.tags = asStringMap(key, value);
    }
  }
  require(hasPath, "cdc.path");
  return file;
}

Metadata readMetadata(const dom::object& object) {
  Metadata metadata;
  for (const auto [key, value] : object) {
    if (value.is_null()) continue;
    if (key == "id") {
      metadata.id = asString(key, value);
    } else if (key == "name") {
      metadata.name = asString(key, value);
    } else if (key == "description") {
      metadata.description = asString(key, value);
    } else if (key == "schemaString") {
      metadata.schemaString = asString(key, value);
    } else if (key == "partitionColumns") {
      metadata.partitionColumns = asStrings(key, value);
    } else if (key == "createdTime") {
      metadata.createdTime = asLong(key, value);
    } else if (key == "configuration") {
      metadata.configuration = asStringMap(key, value);
    }
  }
  return metadata;
}

Protocol readProtocol(const dom::object& object) {
  Protocol protocol;
  for (const auto [key, value] : object) {
    if (value.is_null()) continue;
    if (key == "minReaderVersion") {
      protocol.minReaderVersion = asInt(key, value);
    } else if (key == "minWriterVersion") {
      protocol.minWriterVersion = asInt(key, value);
    } else if (key == "readerFeatures") {
      protocol.readerFeatures = asStrings(key, value);
    } else if (key == "writerFeatures") {
      protocol.writerFeatures = asStrings(key, value);
    }
  }
  return protocol;
}

SetTransaction readTransaction(const dom::object& object) {
  SetTransaction transaction;
  bool hasApp = false;
  bool hasVersion = false;
  for (const auto [key, value] : object) {
    if (value.is_null()) continue;
    if (key == "appId") {
      transaction.appId = asString(key, value);
      hasApp = true;
    } else if (key == "version") {
      transaction.version = asLong(key, value);
      hasVersion = true;
    } else if (key == "lastUpdated") {
      transaction.lastUpdated = asLong(key, value);
    }
  }
  require(hasApp, "txn.appId");
  require(hasVersion, "txn.version");
  return transaction;
}

DomainMetadata readDomain(const dom::object& object) {
  DomainMetadata domain;
  bool hasDomain = false;
  for (const auto [key, value] : object) {
    if (value.is_null()) continue;
    if (key == "domain") {
      domain.domain = asString(key, value);
      hasDomain = true;
    } else if (key == "configuration") {
      domain.configuration = asString(key, value);
    } else if (key == "removed") {
      domain.removed = asBool(key, value);
    }
  }
  require(hasDomain, "domainMetadata.domain");
  return domain;
}

Sidecar readSidecar(const dom::object& object) {
  Sidecar sidecar;
  for (const auto [key, value] : object) {
    if (value.is_null()) continue;
    if (key == "path") {
      sidecar.path = asString(key, value);
    } else if (key == "sizeInBytes") {
      sidecar.sizeInBytes = asLong(key, value);
    } else if (key == "modificationTime") {
      sidecar.modificationTime = asLong(key, value);
    }
  }
  require(!sidecar.path.empty(), "sidecar.path");
  return sidecar;
}

CheckpointMetadata readCheckpointMetadata(const dom::object& object) {
  CheckpointMetadata metadata;
  for (const auto [key, value] : object) {
    if (value.is_null()) continue;
    if (key == "version") {
      metadata.version = asLong(key, value);
    } else if (key == "tags") {
      metadata.tags = asStringMap(key, value);
    }
  }
  return metadata;
}

// Where what a line holds goes.
struct LineSinks {
  const ActionSink& actions;
  const SidecarSink& sidecars;
  const CheckpointMetadataSink& checkpoints;
};

void readAction(std::string_view name, dom::element value, const LineSinks& sinks) {
  const ActionSink& sink = sinks.actions;
  if (value.is_null()) return;
  if (name == "add") {
    sink(readAdd(asObject(name, value)));
  } else if (name == "remove") {
    sink(readRemove(asObject(name, value)));
  } else if (name == "cdc") {
    sink(readCdc(asObject(name, value)));
  } else if (name == "metaData") {
    sink(readMetadata(asObject(name, value)));
  } else if (name == "protocol") {
    sink(readProtocol(asObject(name, value)));
  } else if (name == "txn") {
    sink(readTransaction(asObject(name, value)));
  } else if (name == "domainMetadata") {
    sink(readDomain(asObject(name, value)));
  } else if (name == "commitInfo") {
    sink(CommitInfo{simdjson::minify(value)});
  } else if (name == "sidecar" && sinks.sidecars) {
    sinks.sidecars(readSidecar(asObject(name, value)));
  } else if (name == "checkpointMetadata" && sinks.checkpoints) {
    sinks.checkpoints(readCheckpointMetadata(asObject(name, value)));
  }
}

bool isBlank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

// Where the object that starts in `text` at `begin` ends (one past it); the text's end where it never does.
size_t endOfObject(std::string_view text, size_t begin) {
  int depth = 0;
  bool inString = false;
  for (size_t i = begin; i < text.size(); ++i) {
    const char c = text[i];
    if (inString) {
      if (c == '\\') ++i;
      if (c == '"') inString = false;
    } else if (c == '"') {
      inString = true;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth == 0) {
      return i + 1;
    }
  }
  return text.size();
}

// The end of the action that starts at `begin`: of its line, or, where some writer laid it out over several
// lines, of its object.
size_t endOfAction(std::string_view text, size_t begin) {
  size_t end = text.find('\n', begin);
  if (end == std::string_view::npos) end = text.size();
  const size_t last = text.substr(begin, end - begin).find_last_not_of(" \t\r");
  if (last == std::string_view::npos || text[begin + last] == '}') return end;
  return endOfObject(text, begin);
}

void readLine(dom::parser& parser, std::string_view line, const LineSinks& sinks) {
  dom::element root;
  if (const auto error = parser.parse(line.data(), line.size(), false).get(root)) {
    throw Malformed{"it is not JSON (" + std::string(simdjson::error_message(error)) + ")"};
  }
  for (const auto [name, value] : asObject("the line", root)) readAction(name, value, sinks);
}

}  // namespace

void readActions(std::string_view text, std::string_view source, const ActionSink& sink,
                 const SidecarSink& sidecars, const CheckpointMetadataSink& checkpoints) {
  // One copy with the parser's padding behind it serves all lines.
  std::string padded;
  padded.reserve(text.size() + simdjson::SIMDJSON_PADDING);
  padded.assign(text);
  padded.append(simdjson::SIMDJSON_PADDING, ' ');
  const std::string_view lines(padded.data(), text.size());

  dom::parser parser;
  if (parser.allocate(0, kMaxDepth)) throw std::bad_alloc();
  size_t number = 0;
  for (size_t begin = 0; begin < lines.size();) {
    const size_t end = endOfAction(lines, begin);
    const std::string_view line = lines.substr(begin, end - begin);
    begin = end < lines.size() && lines[end] == '\n' ? end + 1 : end;
    ++number;
    if (isBlank(line)) continue;
    try {
      readLine(parser, line, {sink, sidecars, checkpoints});
    } catch (const Malformed& problem) {
      throw Error("DELTA_STATE_RECOVER_ERROR",
                  "Line " + std::to_string(number) + " of the Delta log file " + std::string(source) +
                      " cannot be read: " + problem.what + ". Restore the file from a backup.",
                  {{"operation", "read"}, {"version", std::string(source)}});
    }
  }
}

std::vector<Action> readActions(std::string_view text, std::string_view source) {
  std::vector<Action> actions;
  readActions(text, source, [&](Action&& action) { actions.push_back(std::move(action)); });
  return actions;
}

CommitInfoFields readCommitInfoFields(const CommitInfo& info) {
  CommitInfoFields fields;
  dom::parser parser;
  dom::object object;
  if (parser.allocate(info.json.size(), kMaxDepth) || parser.parse(info.json).get(object)) return fields;
  for (const auto [key, value] : object) {
    int64_t number = 0;
    std::string_view text;
    bool flag = false;
    if (key == "timestamp" && !value.get(number)) fields.timestamp = number;
    if (key == "inCommitTimestamp" && !value.get(number)) fields.inCommitTimestamp = number;
    if (key == "txnId" && !value.get(text)) fields.txnId = std::string(text);
    if (key == "isBlindAppend" && !value.get(flag)) fields.isBlindAppend = flag;
  }
  return fields;
}

}  // namespace thalweg::delta
