#include "types/char_varchar.h"

#include <algorithm>
#include <functional>

#include "common/error.h"
#include "common/json_text.h"
#include "types/column_metadata.h"
#include "types/ddl.h"

namespace thalweg {
namespace {

void appendBounded(const DataType& type, const StringBounds& bounds, size_t* next, std::string* text) {
  switch (type.id()) {
    case TypeId::String: {
      const StringBound& bound = bounds.at((*next)++);
      if (bound.kind == StringBound::Kind::None)
        *text += "string";
      else
        *text += (bound.kind == StringBound::Kind::Char ? "char(" : "varchar(") +
                 std::to_string(bound.length) + ")";
      return;
    }
    case TypeId::Array:
      *text += "array<";
      appendBounded(*type.element(), bounds, next, text);
      break;
    case TypeId::Map:
      *text += "map<";
      appendBounded(*type.key(), bounds, next, text);
      *text += ",";
      appendBounded(*type.value(), bounds, next, text);
      break;
    case TypeId::Struct:
      *text += "struct<";
      for (size_t i = 0; i < type.fields().size(); ++i) {
        *text += (i ? "," : "") + type.fields()[i].name + ":";
        appendBounded(*type.fields()[i].type, bounds, next, text);
      }
      break;
    default:
      *text += type.simpleString();
      return;
  }
  *text += ">";
}

bool hasInnerFields(const DataType& type) {
  switch (type.id()) {
    case TypeId::Array:
      return hasInnerFields(*type.element());
    case TypeId::Map:
      return hasInnerFields(*type.key()) || hasInnerFields(*type.value());
    case TypeId::Struct:
      return true;
    default:
      return false;
  }
}

// The type with its fields changed, inner ones too; what has none is left.
DataTypePtr withFields(const DataTypePtr& type, const std::function<void(StructField*)>& change) {
  switch (type->id()) {
    case TypeId::Array:
      return DataType::array(withFields(type->element(), change), type->containsNull());
    case TypeId::Map: {
      DataTypePtr key = withFields(type->key(), change);
      return DataType::map(std::move(key), withFields(type->value(), change), type->containsNull());
    }
    case TypeId::Struct: {
      std::vector<StructField> fields = type->fields();
      for (StructField& field : fields) change(&field);
      return DataType::structOf(std::move(fields));
    }
    default:
      return type;
  }
}

DataTypePtr spreadInto(const DataTypePtr& type, const StringBounds& bounds, size_t* next) {
  return withFields(type, [&](StructField* field) {
    if (hasInnerFields(*field->type)) {
      field->type = spreadInto(field->type, bounds, next);
      return;
    }
    const auto first = bounds.begin() + static_cast<std::ptrdiff_t>(*next);
    *next += numStrings(*field->type);
    field->metadata = withStringBounds(field->metadata, *field->type,
                                       {first, bounds.begin() + static_cast<std::ptrdiff_t>(*next)});
  });
}

DataTypePtr gatherFrom(const DataTypePtr& type, StringBounds* bounds) {
  return withFields(type, [&](StructField* field) {
    if (hasInnerFields(*field->type)) {
      field->type = gatherFrom(field->type, bounds);
      return;
    }
    StringBounds own = stringBoundsOf(*field->type, field->metadata);
    own.resize(numStrings(*field->type));
    bounds->insert(bounds->end(), own.begin(), own.end());
    field->metadata = withStringBounds(field->metadata, *field->type, {});
  });
}

}  // namespace

SchemaPtr spreadStringBounds(const SchemaPtr& schema) {
  std::vector<StructField> columns = schema->fields();
  for (StructField& column : columns) {
    const StringBounds bounds = stringBoundsOf(*column.type, column.metadata);
    if (bounds.empty() || !hasInnerFields(*column.type)) continue;
    size_t next = 0;
    DataTypePtr spread = spreadInto(column.type, bounds, &next);
    // A string beside a struct in a map has no field of its own: such a column stays as it is.
    if (next != bounds.size()) continue;
    column.metadata = withStringBounds(column.metadata, *column.type, {});
    column.type = std::move(spread);
  }
  return DataType::structOf(std::move(columns));
}

SchemaPtr gatherStringBounds(const SchemaPtr& schema) {
  std::vector<StructField> columns = schema->fields();
  for (StructField& column : columns) {
    if (!hasInnerFields(*column.type) || hasMetadataKey(column.metadata, kCharVarcharKey)) continue;
    StringBounds bounds;
    DataTypePtr gathered = gatherFrom(column.type, &bounds);
    if (bounds.size() != numStrings(*column.type)) continue;
    column.type = std::move(gathered);
    column.metadata = withStringBounds(column.metadata, *column.type, bounds);
  }
  return DataType::structOf(std::move(columns));
}

bool canChangeBounds(const DataType& type, const StringBounds& from, const StringBounds& to) {
  using Kind = StringBound::Kind;
  const size_t count = numStrings(type);
  for (size_t i = 0; i < count; ++i) {
    const StringBound before = i < from.size() ? from[i] : StringBound();
    const StringBound after = i < to.size() ? to[i] : StringBound();
    if (before == after || after.kind == Kind::None) continue;
    if (before.kind == Kind::None || after.kind == Kind::Char || after.length < before.length) return false;
  }
  return true;
}

bool hasBounds(const StringBounds& bounds) {
  return std::any_of(bounds.begin(), bounds.end(),
                     [](const StringBound& bound) { return bound.kind != StringBound::Kind::None; });
}

bool hasChars(const StringBounds& bounds) {
  return std::any_of(bounds.begin(), bounds.end(),
                     [](const StringBound& bound) { return bound.kind == StringBound::Kind::Char; });
}

size_t numStrings(const DataType& type) {
  switch (type.id()) {
    case TypeId::String:
      return 1;
    case TypeId::Array:
      return numStrings(*type.element());
    case TypeId::Map:
      return numStrings(*type.key()) + numStrings(*type.value());
    case TypeId::Struct: {
      size_t count = 0;
      for (const StructField& field : type.fields()) count += numStrings(*field.type);
      return count;
    }
    default:
      return 0;
  }
}

std::string boundedTypeString(const DataType& type, const StringBounds& bounds) {
  size_t next = 0;
  std::string text;
  appendBounded(type, bounds, &next, &text);
  return text;
}

std::string boundedSqlString(const DataType& type, const StringBounds& bounds) {
  std::string text = boundedTypeString(type, bounds);
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

StringBounds stringBoundsOf(const DataType& type, const std::string& metadata) {
  // Most columns have no metadata at all: they are not parsed.
  if (metadata.find(kCharVarcharKey) == std::string::npos) return {};
  const auto text = metadataText(metadata, kCharVarcharKey);
  if (!text) return {};
  StringBounds bounds;
  try {
    size_t length = 0;
    parseTypeDdlPrefix(*text, &length, &bounds);
    if (length != text->size()) return {};
  } catch (const Error&) {
    return {};
  }
  return bounds.size() == numStrings(type) ? bounds : StringBounds();
}

std::string withStringBounds(const std::string& metadata, const DataType& type, const StringBounds& bounds) {
  if (hasBounds(bounds))
    return withMetadataKey(metadata, kCharVarcharKey, quotedJson(boundedTypeString(type, bounds)));
  return hasMetadataKey(metadata, kCharVarcharKey) ? withoutMetadataKey(metadata, kCharVarcharKey) : metadata;
}

int64_t numCharacters(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char byte) { return (byte & 0xC0) != 0x80; });
}

}  // namespace thalweg
