#include "formats/json/json_rows.h"

#include <arrow/array/util.h>

#include "types/text/number_text.h"

namespace thalweg {
namespace {

bool hasType(const JsonNode& node, TypeId type) {
  if (node.type == type) return true;
  for (const JsonNode& child : node.children) {
    if (hasType(child, type)) return true;
  }
  return false;
}

std::shared_ptr<const DateTimePattern> compilePattern(const JsonNode& root, TypeId type,
                                                      const std::optional<std::string>& text) {
  if (!text || !hasType(root, type)) return nullptr;
  auto pattern = std::make_shared<DateTimePattern>(DateTimePattern::compile(*text));
  pattern->requireParsable();
  return pattern;
}

int findCorruptColumn(const DataType& schema, const std::string& name) {
  if (schema.id() != TypeId::Struct) return -1;
  const int index = schema.fieldIndex(name);
  if (index < 0) return -1;
  const StructField& field = schema.fields()[static_cast<size_t>(index)];
  if (field.type->id() != TypeId::String) {
    throw Error("INVALID_CORRUPT_RECORD_TYPE",
                "The column '" + name + "' for corrupt records must be a nullable STRING, not " +
                    field.type->sqlString() + ".",
                {{"columnName", "`" + name + "`"}, {"actualType", "\"" + field.type->sqlString() + "\""}});
  }
  return index;
}

// As Spark prints an internal row: "[1,null]".
std::string renderRow(const JsonNode& node, const JsonCell* row) {
  std::string text = "[";
  for (size_t i = 0; i < node.children.size(); ++i) {
    if (i > 0) text.push_back(',');
    const JsonCell* cell = row && i < row->children.size() ? &row->children[i] : nullptr;
    if (!cell || cell->isNull) {
      text.append("null");
      continue;
    }
    switch (node.children[i].type) {
      case TypeId::String:
        text.append(cell->text());
        break;
      case TypeId::Boolean:
        text.append(cell->integer ? "true" : "false");
        break;
      case TypeId::Double:
        appendDouble(cell->real, &text);
        break;
      case TypeId::Float:
        appendFloat(cell->single, &text);
        break;
      case TypeId::Decimal:
        appendDecimal(cell->decimal, node.children[i].scale, &text);
        break;
      default:
        if (node.children[i].children.empty()) {
          appendLong(cell->integer, &text);
        } else {
          text.append("…");
        }
        break;
    }
  }
  if (node.type != TypeId::Struct) text.append("null");
  text.push_back(']');
  return text;
}

}  // namespace

JsonPlan::JsonPlan(DataTypePtr schema, JsonOptions givenOptions, bool forFiles)
    : options(std::move(givenOptions)) {
  if (schema->id() != TypeId::Struct && schema->id() != TypeId::Array && schema->id() != TypeId::Map) {
    throw Error("DATATYPE_MISMATCH.INVALID_JSON_SCHEMA",
                "JSON is read into a struct, an array or a map, not into " + schema->sqlString() + ".",
                {{"schema", "\"" + schema->sqlString() + "\""}});
  }
  if (options.mode == ParseMode::DropMalformed && !forFiles) {
    throw Error("PARSE_MODE_UNSUPPORTED",
                "The function from_json takes the modes PERMISSIVE and FAILFAST, not DROPMALFORMED.",
                {{"funcName", "`from_json`"}, {"mode", "DROPMALFORMED"}});
  }
  corruptIndex = findCorruptColumn(*schema, options.corruptRecordColumn);
  resultType = asNullable(schema);
  output = JsonNode::compile(resultType);
  parsed = JsonNode::compile(resultType, corruptIndex);
  formats.timestamp = compilePattern(parsed, TypeId::Timestamp, options.timestampFormat);
  formats.timestampNtz = compilePattern(parsed, TypeId::TimestampNtz, options.timestampNtzFormat);
  formats.date = compilePattern(parsed, TypeId::Date, options.dateFormat);
  formats.arraysAsStructs = forFiles;
  // A named encoding makes Spark read characters instead of bytes, as from_json does.
  formats.strictUtf8 = forFiles && options.encoding.empty();
  formats.rawStrings = forFiles && options.encoding.empty();
}

void JsonRowWriter::appendRow(const JsonCell& cell, const std::optional<std::string_view>& corrupt) {
  if (plan_.parsed.type != TypeId::Struct) {
    cell.appendTo(plan_.parsed, &column_);
    return;
  }
  for (size_t i = 0; i < plan_.parsed.children.size(); ++i) {
    if (cell.isNull) {
      field(i).appendNull();
    } else {
      cell.children[i].appendTo(plan_.parsed.children[i], &field(i));
    }
  }
  if (plan_.corruptIndex >= 0) {
    JsonColumn& column = column_.child(static_cast<size_t>(plan_.corruptIndex));
    if (corrupt) {
      column.appendBytes(*corrupt);
    } else {
      column.appendNull();
    }
  }
  column_.closeStruct();
}

void JsonRowWriter::closeCleanRow() {
  if (plan_.corruptIndex >= 0) column_.child(static_cast<size_t>(plan_.corruptIndex)).appendNull();
  column_.closeStruct();
}

std::shared_ptr<arrow::Array> JsonRowWriter::finish() {
  return arrow::MakeArray(column_.finish());
}

Error malformedRecordError(const JsonPlan& plan, const JsonFailure& failure, std::string_view record,
                           const std::vector<JsonCell>& rows) {
  const std::string advice = " To get such records as nulls, set the option mode to PERMISSIVE.";
  const std::string text(record);
  switch (failure.cause) {
    case JsonFailure::Cause::ArrayAsStruct:
      return Error("MALFORMED_RECORD_IN_PARSING.CANNOT_PARSE_JSON_ARRAYS_AS_STRUCTS",
                   "A malformed record: " + text + " is an array where the schema has a struct." + advice,
                   {{"badRecord", text}, {"failFastMode", "FAILFAST"}});
    case JsonFailure::Cause::StringAsType:
      return Error("MALFORMED_RECORD_IN_PARSING.CANNOT_PARSE_STRING_AS_DATATYPE",
                   "A malformed record: " + text + ": the field " + failure.fieldName + " has the string '" +
                       failure.fieldValue + "', which is no " + failure.dataType + "." + advice,
                   {{"badRecord", text},
                    {"failFastMode", "FAILFAST"},
                    {"fieldName", "`" + failure.fieldName + "`"},
                    {"fieldValue", "'" + failure.fieldValue + "'"},
                    {"inputType", "\"STRING\""},
                    {"targetType", "\"" + failure.dataType + "\""}});
    case JsonFailure::Cause::Malformed:
      break;
  }
  const std::string row = renderRow(plan.parsed, rows.empty() ? nullptr : &rows[0]);
  return Error("MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION",
               "A malformed record, parsed as far as it goes: " + row + "." + advice,
               {{"badRecord", row}, {"failFastMode", "FAILFAST"}});
}

}  // namespace thalweg
