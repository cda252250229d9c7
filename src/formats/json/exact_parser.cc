#include "formats/json/exact_parser.h"

#include <charconv>
#include <limits>

#include "types/text/number_text.h"
#include "types/text/time_text.h"

namespace thalweg {
namespace {

struct IntegerRange {
  int64_t minimum;
  int64_t maximum;
};

// Jackson's getByteValue takes unsigned bytes too and wraps them.
IntegerRange rangeOf(TypeId type) {
  switch (type) {
    case TypeId::Byte:
      return {-128, 255};
    case TypeId::Short:
      return {std::numeric_limits<int16_t>::min(), std::numeric_limits<int16_t>::max()};
    case TypeId::Int:
      return {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
    default:
      return {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
  }
}

bool parseLong(std::string_view text, int64_t* value) {
  const char* end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, *value);
  return status == std::errc() && stop == end;
}

}  // namespace

void JsonCell::appendTo(const JsonNode& node, JsonColumn* column) const {
  if (isNull) {
    column->appendNull();
    return;
  }
  switch (node.type) {
    case TypeId::Boolean:
      column->appendBool(integer != 0);
      break;
    case TypeId::Byte:
      column->appendValue(static_cast<int8_t>(integer));
      break;
    case TypeId::Short:
      column->appendValue(static_cast<int16_t>(integer));
      break;
    case TypeId::Int:
    case TypeId::Date:
      column->appendValue(static_cast<int32_t>(integer));
      break;
    case TypeId::Float:
      column->appendValue(single);
      break;
    case TypeId::Double:
      column->appendValue(real);
      break;
    case TypeId::Decimal: {
      uint8_t little[16];
      decimal.ToBytes(little);
      column->values().append(little, sizeof little);
      column->closeStruct();
      break;
    }
    case TypeId::String:
    case TypeId::Binary:
      column->appendBytes(text());
      break;
    case TypeId::Array:
      for (const JsonCell& element : children) element.appendTo(node.children[0], &column->child(0));
      column->closeList();
      break;
    case TypeId::Map:
      for (size_t i = 0; i < children.size(); i += 2) {
        column->child(0).appendBytes(children[i].bytes);
        children[i + 1].appendTo(node.children[0], &column->child(1));
      }
      column->closeList();
      break;
    case TypeId::Struct:
      for (size_t i = 0; i < children.size(); ++i) children[i].appendTo(node.children[i], &column->child(i));
      column->closeStruct();
      break;
    default:
      column->appendValue(integer);
      break;
  }
}

JsonOutcome ExactJsonParser::parse(std::string_view text, std::vector<JsonCell>* rows) {
  rows->clear();
  hasFailure_ = false;
  failure_ = {};
  reader_.reset(text, formats_.strictUtf8);
  if (!reader_.next()) return JsonOutcome::Bad;
  if (reader_.token() == JsonToken::None) return JsonOutcome::Blank;
  const JsonOutcome outcome = parseRoot(rows);
  if (outcome == JsonOutcome::Bad) rows->clear();
  return outcome;
}

JsonOutcome ExactJsonParser::parseRoot(std::vector<JsonCell>* rows) {
  const JsonToken token = reader_.token();
  Result result = Result::Failed;
  JsonCell cell;
  if (root_.type == TypeId::Struct) {
    if (token == JsonToken::StartObject) {
      result = convertObject(root_, &cell);
      rows->push_back(std::move(cell));
    } else if (token == JsonToken::StartArray && formats_.arraysAsStructs) {
      result = convertArray(root_, &cell, true);
      *rows = std::move(cell.children);
    } else if (token == JsonToken::StartArray) {
      failed({JsonFailure::Cause::ArrayAsStruct});
    }
  } else {
    if (root_.type == TypeId::Array && token == JsonToken::StartArray) {
      result = convertArray(root_.children[0], &cell, false);
    } else if (root_.type == TypeId::Array && token == JsonToken::StartObject &&
               root_.children[0].type == TypeId::Struct) {
      // One object stands for an array of it.
      JsonCell element;
      result = convertObject(root_.children[0], &element);
      cell.isNull = false;
      cell.children.push_back(std::move(element));
    } else if (root_.type == TypeId::Map && token == JsonToken::StartObject) {
      result = convertMap(root_, &cell);
    }
    rows->push_back(std::move(cell));
  }
  if (result == Result::Failed) return JsonOutcome::Bad;
  return result == Result::Ok ? JsonOutcome::Ok : JsonOutcome::Partial;
}

ExactJsonParser::Result ExactJsonParser::failed(JsonFailure failure) {
  if (!hasFailure_) failure_ = std::move(failure);
  hasFailure_ = true;
  return Result::Failed;
}

ExactJsonParser::Result ExactJsonParser::recover() {
  return reader_.skipChildren() ? Result::Partial : failed();
}

ExactJsonParser::Result ExactJsonParser::convert(const JsonNode& node, JsonCell* cell) {
  *cell = JsonCell();
  while (reader_.token() == JsonToken::FieldName) {
    if (!reader_.next()) return failed();
  }
  if (reader_.token() == JsonToken::None || reader_.token() == JsonToken::Null || node.type == TypeId::Void)
    return Result::Ok;
  const Result result = convertToken(node, cell);
  cell->isNull = result == Result::Failed;
  if (result != Result::Failed) return result;
  // Spark asks a string that does not fit for its length, which reads it to its end.
  std::string_view ignored;
  if (reader_.token() == JsonToken::String && node.type != TypeId::Binary) reader_.readString(&ignored);
  return failed();
}

ExactJsonParser::Result ExactJsonParser::convertToken(const JsonNode& node, JsonCell* cell) {
  const JsonToken token = reader_.token();
  switch (node.type) {
    case TypeId::Boolean:
      cell->integer = token == JsonToken::True ? 1 : 0;
      return token == JsonToken::True || token == JsonToken::False ? Result::Ok : Result::Failed;
    case TypeId::Byte:
    case TypeId::Short:
    case TypeId::Int:
    case TypeId::Long:
      return convertInteger(node, cell);
    case TypeId::Float:
    case TypeId::Double:
      return convertFloating(node, cell);
    case TypeId::Decimal:
      return convertDecimal(node, cell);
    case TypeId::String:
      return convertText(cell);
    case TypeId::Binary:
      return token == JsonToken::String && reader_.readBase64(&cell->bytes) ? Result::Ok : Result::Failed;
    case TypeId::Date:
    case TypeId::Timestamp:
    case TypeId::TimestampNtz:
      return convertTime(node, cell);
    case TypeId::Array:
      return token == JsonToken::StartArray ? convertArray(node.children[0], cell, false) : Result::Failed;
    case TypeId::Map:
      return token == JsonToken::StartObject ? convertMap(node, cell) : Result::Failed;
    case TypeId::Struct:
      return token == JsonToken::StartObject ? convertObject(node, cell) : Result::Failed;
    default:
      return Result::Failed;
  }
}

ExactJsonParser::Result ExactJsonParser::convertObject(const JsonNode& node, JsonCell* cell) {
  cell->isNull = false;
  cell->children.assign(node.children.size(), JsonCell());
  Result outcome = Result::Ok;
  for (;;) {
    if (!reader_.next()) return failed();
    if (reader_.token() == JsonToken::None || reader_.token() == JsonToken::EndObject) return outcome;
    const std::string* name = reader_.currentName();
    const int index = name ? node.fieldIndex(*name) : -1;
    if (index < 0) {
      if (!reader_.skipChildren()) return failed();
      continue;
    }
    JsonCell value;
    const Result result = convert(node.children[static_cast<size_t>(index)], &value);
    // A field that fails keeps what an earlier field of the same name gave.
    if (result != Result::Failed) cell->children[static_cast<size_t>(index)] = std::move(value);
    if (result == Result::Failed && recover() == Result::Failed) return Result::Failed;
    if (result != Result::Ok) outcome = Result::Partial;
  }
}

ExactJsonParser::Result ExactJsonParser::convertArray(const JsonNode& element, JsonCell* cell,
                                                      bool nullsFail) {
  cell->isNull = false;
  Result outcome = Result::Ok;
  for (;;) {
    if (!reader_.next()) return failed();
    if (reader_.token() == JsonToken::None || reader_.token() == JsonToken::EndArray) return outcome;
    JsonCell value;
    const Result result = convert(element, &value);
    if (result == Result::Failed || (nullsFail && value.isNull)) return failed();
    if (result == Result::Partial) outcome = Result::Partial;
    cell->children.push_back(std::move(value));
  }
}

ExactJsonParser::Result ExactJsonParser::convertMap(const JsonNode& node, JsonCell* cell) {
  cell->isNull = false;
  Result outcome = Result::Ok;
  bool valueMissing = false;
  for (;;) {
    if (!reader_.next()) return failed();
    if (reader_.token() == JsonToken::None || reader_.token() == JsonToken::EndObject) break;
    const std::string* name = reader_.currentName();
    if (!name) return failed();
    JsonCell key;
    key.isNull = false;
    key.bytes = *name;
    JsonCell value;
    const Result result = convert(node.children[0], &value);
    if (result == Result::Failed) {
      valueMissing = true;
      if (recover() == Result::Failed) return Result::Failed;
    }
    if (result == Result::Partial) outcome = Result::Partial;
    cell->children.push_back(std::move(key));
    cell->children.push_back(std::move(value));
  }
  return valueMissing ? failed() : outcome;
}

ExactJsonParser::Result ExactJsonParser::convertInteger(const JsonNode& node, JsonCell* cell) {
  const IntegerRange range = rangeOf(node.type);
  if (reader_.token() != JsonToken::Int || !parseLong(reader_.numberText(), &cell->integer))
    return Result::Failed;
  return cell->integer >= range.minimum && cell->integer <= range.maximum ? Result::Ok : Result::Failed;
}

ExactJsonParser::Result ExactJsonParser::convertFloating(const JsonNode& node, JsonCell* cell) {
  const JsonToken token = reader_.token();
  if (token == JsonToken::Int || token == JsonToken::Float) {
    cell->real = reader_.numberAsDouble();
    const bool plain = cell->real != 0 && !(token == JsonToken::Float && reader_.isNonNumeric());
    cell->single = plain ? plainNumberToFloat(reader_.numberText()) : static_cast<float>(cell->real);
    return Result::Ok;
  }
  std::string_view text;
  if (token != JsonToken::String || !reader_.readString(&text) || text.empty()) return Result::Failed;
  if (options_.allowNonNumericNumbers) {
    const double infinity = std::numeric_limits<double>::infinity();
    bool known = true;
    if (text == "NaN") {
      cell->real = std::numeric_limits<double>::quiet_NaN();
    } else if (text == "+INF" || text == "+Infinity" || text == "Infinity") {
      cell->real = infinity;
    } else if (text == "-INF" || text == "-Infinity") {
      cell->real = -infinity;
    } else {
      known = false;
    }
    cell->single = static_cast<float>(cell->real);
    if (known) return Result::Ok;
  }
  const std::string* name = reader_.currentName();
  return failed(
      {JsonFailure::Cause::StringAsType, name ? *name : "", std::string(text), node.sparkType->sqlString()});
}

ExactJsonParser::Result ExactJsonParser::convertDecimal(const JsonNode& node, JsonCell* cell) {
  std::string_view text;
  std::string withoutCommas;
  if (reader_.token() == JsonToken::Int || reader_.token() == JsonToken::Float) {
    if (reader_.token() == JsonToken::Float && reader_.isNonNumeric()) return Result::Failed;
    text = reader_.numberText();
  } else if (reader_.token() != JsonToken::String || !reader_.readString(&text) || text.empty()) {
    return Result::Failed;
  }
  if (text.find(',') != std::string_view::npos) {
    // The US locale's grouping marks.
    for (char c : text) {
      if (c != ',') withoutCommas.push_back(c);
    }
    text = withoutCommas;
  }
  return parseDecimal(text, node.precision, node.scale, &cell->decimal) == DecimalParse::Ok ? Result::Ok
                                                                                            : Result::Failed;
}

ExactJsonParser::Result ExactJsonParser::convertText(JsonCell* cell) {
  cell->borrowed = {};
  if (reader_.token() == JsonToken::String) {
    return reader_.takeString(&cell->bytes, &cell->borrowed) ? Result::Ok : Result::Failed;
  }
  if (!formats_.rawStrings) return reader_.renderValue(&cell->bytes) ? Result::Ok : Result::Failed;
  return reader_.rawValue(&cell->borrowed) ? Result::Ok : Result::Failed;
}

ExactJsonParser::Result ExactJsonParser::convertTime(const JsonNode& node, JsonCell* cell) {
  if (node.type == TypeId::Timestamp && reader_.token() == JsonToken::Int) {
    // Seconds; what passes 64 bits wraps, as Java's long does.
    if (!parseLong(reader_.numberText(), &cell->integer)) return Result::Failed;
    cell->integer = static_cast<int64_t>(static_cast<uint64_t>(cell->integer) * 1'000'000U);
    return Result::Ok;
  }
  std::string_view text;
  if (reader_.token() != JsonToken::String || !reader_.readString(&text) || text.empty())
    return Result::Failed;
  return parseTime(node.type, text, &cell->integer) ? Result::Ok : Result::Failed;
}

bool ExactJsonParser::parseTime(TypeId type, std::string_view text, int64_t* value) const {
  std::optional<int64_t> parsed;
  if (type == TypeId::Timestamp) {
    parsed = formats_.timestamp ? formats_.timestamp->parseTimestamp(text, options_.zone)
                                : parseTimestamp(text, options_.zone);
  } else if (type == TypeId::TimestampNtz) {
    parsed = formats_.timestampNtz ? formats_.timestampNtz->parseTimestampNtz(text)
                                   : parseTimestampNtz(text, false);
  } else if (formats_.date) {
    parsed = formats_.date->parseDate(text);
  } else {
    parsed = parseDate(text);
    // Spark 1.5 wrote dates as numbers of days, and they are read to this day.
    if (!parsed) {
      int32_t days = 0;
      const std::string_view digits = text[0] == '+' ? text.substr(1) : text;
      const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), days);
      if (status == std::errc() && end == digits.data() + digits.size()) parsed = days;
    }
  }
  if (!parsed) return false;
  *value = *parsed;
  return true;
}

}  // namespace thalweg
