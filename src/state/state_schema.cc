#include "state/state_schema.h"

#include "common/error.h"
#include "storage/resolved_put.h"
#include "types/schema_json.h"

namespace thalweg {
namespace {

// Java's writeUTF takes 65,535 bytes; a UTF-16 unit takes up to three.
constexpr size_t kPieceUnits = 65535 / 3;
constexpr size_t kMaxSchemaBytes = 64 << 20;

[[noreturn]] void throwCorrupt(const std::string& path, const std::string& reason) {
  throw Error(
      "STATE_STORE_CHECKPOINT_CORRUPT",
      "The state schema in " + path + " cannot be read: " + reason + ". Restore the file or remove it.",
      {{"fileToRead", path}});
}

// Java's modified UTF-8 differs in two ways: NUL takes two bytes, and characters beyond 16 bits two units of
// three.
void appendUnit(uint32_t unit, std::string* out) {
  if (unit != 0 && unit < 0x80) {
    out->push_back(static_cast<char>(unit));
  } else if (unit < 0x800) {
    out->push_back(static_cast<char>(0xC0 | unit >> 6));
    out->push_back(static_cast<char>(0x80 | (unit & 0x3F)));
  } else {
    out->push_back(static_cast<char>(0xE0 | unit >> 12));
    out->push_back(static_cast<char>(0x80 | (unit >> 6 & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (unit & 0x3F)));
  }
}

// One character of UTF-8 at `place`, which moves on; a byte that begins none is taken as it is.
uint32_t nextCharacter(std::string_view text, size_t* place) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(*place);
  const size_t length = first < 0x80 ? 1 : first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1;
  if (length == 1 || *place + length > text.size()) return byte((*place)++);
  uint32_t character = first & (0xFF >> (length + 1));
  for (size_t i = 1; i < length; ++i) character = character << 6 | (byte(*place + i) & 0x3F);
  *place += length;
  return character;
}

void appendPiece(std::string_view piece, std::string* out) {
  out->push_back(static_cast<char>(piece.size() >> 8));
  out->push_back(static_cast<char>(piece.size()));
  out->append(piece);
}

void appendSchema(const Schema& schema, std::string* out) {
  const std::string json = toSchemaJson(schema);
  std::vector<std::string> pieces(1);
  size_t units = 0;
  const auto append = [&](uint32_t unit) {
    if (units++ == kPieceUnits) {
      pieces.emplace_back();
      units = 1;
    }
    appendUnit(unit, &pieces.back());
  };
  for (size_t place = 0; place < json.size();) {
    const uint32_t character = nextCharacter(json, &place);
    if (character >= 0x10000) {
      append(0xD800 + ((character - 0x10000) >> 10));
      append(0xDC00 + ((character - 0x10000) & 0x3FF));
    } else {
      append(character);
    }
  }
  const auto count = static_cast<uint32_t>(pieces.size());
  for (const int shift : {24, 16, 8, 0}) out->push_back(static_cast<char>(count >> shift));
  for (const std::string& piece : pieces) appendPiece(piece, out);
}

// Modified UTF-8 back into UTF-8.
std::string fromModifiedUtf8(std::string_view text) {
  std::string out;
  for (size_t place = 0; place < text.size();) {
    uint32_t character = nextCharacter(text, &place);
    if (character >= 0xD800 && character < 0xDC00 && place < text.size()) {
      const uint32_t low = nextCharacter(text, &place);
      character = 0x10000 + ((character - 0xD800) << 10) + ((low - 0xDC00) & 0x3FF);
      out.push_back(static_cast<char>(0xF0 | character >> 18));
      out.push_back(static_cast<char>(0x80 | (character >> 12 & 0x3F)));
      out.push_back(static_cast<char>(0x80 | (character >> 6 & 0x3F)));
      out.push_back(static_cast<char>(0x80 | (character & 0x3F)));
    } else if (character == 0) {
      out.push_back('\0');
    } else {
      appendUnit(character, &out);
    }
  }
  return out;
}

class SchemaInput {
 public:
  SchemaInput(std::string_view bytes, const std::string& path) : bytes_(bytes), path_(path) {}

  std::string_view take(size_t n) {
    if (bytes_.size() < n) throwCorrupt(path_, "it is cut short");
    const std::string_view taken = bytes_.substr(0, n);
    bytes_.remove_prefix(n);
    return taken;
  }
  std::string_view utf() {
    const std::string_view length = take(2);
    return take(static_cast<size_t>(static_cast<uint8_t>(length[0])) << 8 | static_cast<uint8_t>(length[1]));
  }
  SchemaPtr schema(bool inPieces) {
    uint32_t count = 1;
    if (inPieces) {
      count = 0;
      for (const char byte : take(4)) count = count << 8 | static_cast<uint8_t>(byte);
    }
    std::string json;
    for (uint32_t i = 0; i < count; ++i) json += utf();
    SchemaPtr type;
    try {
      type = parseSchemaJson(fromModifiedUtf8(json));
    } catch (const Error& error) {
      throwCorrupt(path_, error.text());
    }
    if (type->id() != TypeId::Struct) throwCorrupt(path_, "a schema is no struct");
    return type;
  }

 private:
  std::string_view bytes_;
  const std::string& path_;
};

std::string schemaPath(StateStoreId id) {
  id.partitionId = 0;
  return id.folder() + "/_metadata/schema";
}

// May values of `current` go where values of `stored` were?
bool compatible(const DataType& stored, const DataType& current) {
  if (stored.id() != current.id()) return false;
  switch (stored.id()) {
    case TypeId::Array:
      return (stored.containsNull() || !current.containsNull()) &&
             compatible(*stored.element(), *current.element());
    case TypeId::Map:
      return (stored.containsNull() || !current.containsNull()) &&
             compatible(*stored.key(), *current.key()) && compatible(*stored.value(), *current.value());
    case TypeId::Struct: {
      const auto& before = stored.fields();
      const auto& after = current.fields();
      if (before.size() != after.size()) return false;
      for (size_t i = 0; i < before.size(); ++i) {
        if (!before[i].nullable && after[i].nullable) return false;
        if (!compatible(*before[i].type, *after[i].type)) return false;
      }
      return true;
    }
    default:
      return equals(stored, current);
  }
}

}  // namespace

StateSchema parseStateSchema(std::string_view bytes, const std::string& path) {
  if (bytes.size() > kMaxSchemaBytes) throwCorrupt(path, "it is larger than a schema can be");
  SchemaInput input(bytes, path);
  const std::string_view version = input.utf();
  if (version == "v3")
    throw unsupported("State stores with column families (state schema version 3, in " + path + ")");
  if (version != "v1" && version != "v2") throwCorrupt(path, "its version is neither v1 nor v2");
  StateSchema schema;
  schema.key = input.schema(version == "v2");
  schema.value = input.schema(version == "v2");
  return schema;
}

std::string formatStateSchema(const StateSchema& schema) {
  std::string out;
  appendPiece("v2", &out);
  appendSchema(*schema.key, &out);
  appendSchema(*schema.value, &out);
  return out;
}

std::optional<StateSchema> readStateSchema(FileSystem& fileSystem, const StateStoreId& id) {
  const std::string path = schemaPath(id);
  if (!fileSystem.stat(path)) return std::nullopt;
  return parseStateSchema(fileSystem.readAll(path), path);
}

void writeStateSchema(FileSystem& fileSystem, const StateStoreId& id, const StateSchema& schema) {
  putIfAbsentResolved(fileSystem, schemaPath(id), formatStateSchema(schema));
}

void checkStateSchema(const StateSchema& stored, const StateSchema& current, ValueCheck valueCheck) {
  const char* advice =
      ". Grouping columns, their types and the aggregates of a query cannot change while its state is kept: "
      "undo "
      "the change, or start with a new checkpoint.";
  if (!compatible(*stored.key, *current.key)) {
    const std::string before = stored.key->simpleString(), after = current.key->simpleString();
    throw Error(
        "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE",
        "The query's state has keys of the type " + before + ", and the query now has " + after + advice,
        {{"storedKeySchema", before}, {"newKeySchema", after}});
  }
  if (valueCheck == ValueCheck::Skip) return;
  const bool nullsCount = valueCheck == ValueCheck::Types;
  if (!compatible(nullsCount ? *stored.value : *asNullable(stored.value),
                  nullsCount ? *current.value : *asNullable(current.value))) {
    const std::string before = stored.value->simpleString(), after = current.value->simpleString();
    throw Error(
        "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE",
        "The query's state has values of the type " + before + ", and the query now has " + after + advice,
        {{"storedValueSchema", before}, {"newValueSchema", after}});
  }
}

}  // namespace thalweg
