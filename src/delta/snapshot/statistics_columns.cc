#include "delta/snapshot/statistics_columns.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "common/error.h"
#include "common/options.h"
#include "delta/snapshot/property_values.h"

namespace thalweg::delta {
namespace {

using Path = std::vector<std::string>;

bool isPlain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80 || std::isalnum(byte) || c == '_';
}

// Reads names, and the marks between them, from a text.
class ColumnListReader {
 public:
  explicit ColumnListReader(std::string_view text) : text_(text) {}

  std::optional<std::vector<Path>> read() {
    skipSpaces();
    if (at_ == text_.size()) return std::vector<Path>();
    std::vector<Path> columns(1);
    while (true) {
      auto name = readName();
      if (!name) return std::nullopt;
      columns.back().push_back(std::move(*name));
      skipSpaces();
      if (at_ == text_.size()) return columns;
      const char mark = text_[at_++];
      if (mark == ',')
        columns.emplace_back();
      else if (mark != '.')
        return std::nullopt;
    }
  }

 private:
  void skipSpaces() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }

  std::optional<std::string> readName() {
    skipSpaces();
    if (at_ < text_.size() && text_[at_] == '`') return readQuoted();
    const size_t begin = at_;
    while (at_ < text_.size() && isPlain(text_[at_])) ++at_;
    if (at_ == begin) return std::nullopt;
    return std::string(text_.substr(begin, at_ - begin));
  }

  // Two back-ticks inside stand for one.
  std::optional<std::string> readQuoted() {
    std::string name;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] != '`') {
        name += text_[at_];
      } else if (at_ + 1 < text_.size() && text_[at_ + 1] == '`') {
        name += text_[at_++];
      } else {
        ++at_;
        return name;
      }
    }
    return std::nullopt;
  }

  std::string_view text_;
  size_t at_ = 0;
};

std::string dotted(const Path& path) {
  std::string text;
  for (const std::string& part : path) text += (text.empty() ? "" : ".") + part;
  return text;
}

// What a name means inside of a type; null where nothing.
DataTypePtr memberOf(const DataType& type, const std::string& name) {
  if (type.id() == TypeId::Array) return equalsIgnoreCase(name, "element") ? type.element() : nullptr;
  if (type.id() == TypeId::Map && equalsIgnoreCase(name, "key")) return type.key();
  if (type.id() == TypeId::Map) return equalsIgnoreCase(name, "value") ? type.value() : nullptr;
  const int index = type.fieldIndex(name, /*caseSensitive=*/false);
  return index < 0 ? nullptr : type.fields()[static_cast<size_t>(index)].type;
}

DataTypePtr requireColumn(const SchemaPtr& schema, const Path& path) {
  DataTypePtr type = schema;
  for (const std::string& part : path) {
    if (!type->isNested()) {
      throw Error("DELTA_COLUMN_PATH_NOT_NESTED",
                  "The property " + std::string(kStatisticsColumns) + " names " + dotted(path) + ", but " +
                      part + " would lie in a column of type " + type->sqlString() + ".",
                  {{"columnPath", part},
                   {"other", type->sqlString()},
                   {"column", dotted(path)},
                   {"schema", schema->simpleString()}});
    }
    type = memberOf(*type, part);
    if (type) continue;
    throw Error("DELTA_COLUMN_NOT_FOUND_IN_SCHEMA",
                "The property " + std::string(kStatisticsColumns) + " names the column " + dotted(path) +
                    ", which the table does not have: " + schema->simpleString() + ".",
                {{"columnName", dotted(path)}, {"tableSchema", schema->simpleString()}});
  }
  return type;
}

// The columns and fields with bounds that a name stands for.
void addLeaves(const std::string& name, const DataType& type, std::vector<std::string>* leaves) {
  if (type.id() == TypeId::Struct) {
    for (const StructField& field : type.fields()) addLeaves(name + "." + field.name, *field.type, leaves);
    return;
  }
  if (!hasBounds(type)) {
    throw Error("DELTA_COLUMN_DATA_SKIPPING_NOT_SUPPORTED_TYPE",
                "The property " + std::string(kStatisticsColumns) + " names " + name + " of type " +
                    type.sqlString() + ", of which there are no least and greatest values: leave it out.",
                {{"column", name}, {"type", type.sqlString()}});
  }
  leaves->push_back(name);
}

}  // namespace

std::optional<std::vector<Path>> parseColumnList(std::string_view text) {
  return ColumnListReader(text).read();
}

bool hasBounds(const DataType& type) {
  switch (type.id()) {
    case TypeId::Byte:
    case TypeId::Short:
    case TypeId::Int:
    case TypeId::Long:
    case TypeId::Float:
    case TypeId::Double:
    case TypeId::Decimal:
    case TypeId::Date:
    case TypeId::Timestamp:
    case TypeId::TimestampNtz:
    case TypeId::String:
      return true;
    default:
      return false;
  }
}

void checkStatisticsColumns(const Metadata& metadata) {
  const auto text = tableProperty(metadata, kStatisticsColumns);
  const auto columns = text ? parseColumnList(*text) : std::nullopt;
  if (!columns) return;
  const SchemaPtr schema = metadata.schema();
  std::vector<std::string> leaves;
  for (const Path& path : *columns) {
    const auto& partitions = metadata.partitionColumns;
    if (path.size() == 1 && std::any_of(partitions.begin(), partitions.end(), [&](const std::string& name) {
          return equalsIgnoreCase(name, path[0]);
        })) {
      throw Error("DELTA_COLUMN_DATA_SKIPPING_NOT_SUPPORTED_PARTITIONED_COLUMN",
                  "The property " + std::string(kStatisticsColumns) + " names " + path[0] +
                      ", which the table is partitioned by: its values are in the log already. Leave it out.",
                  {{"column", path[0]}});
    }
    addLeaves(dotted(path), *requireColumn(schema, path), &leaves);
  }
  std::set<std::string> seen;
  for (const std::string& leaf : leaves) {
    if (seen.insert(toLowerAscii(leaf)).second) continue;
    throw Error("DELTA_DUPLICATE_DATA_SKIPPING_COLUMNS",
                "The property " + std::string(kStatisticsColumns) + " names " + leaf + " twice.",
                {{"columns", leaf}});
  }
}

}  // namespace thalweg::delta
