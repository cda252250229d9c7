#include "types/ddl.h"

#include <charconv>
#include <map>

#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/json_text.h"
#include "common/options.h"
#include "types/char_varchar.h"
#include "types/schema_json.h"

namespace thalweg {
namespace {

constexpr int kMaxDepth = 200;

// A recursive-descent parser over one DDL text.
class DdlParser {
 public:
  explicit DdlParser(std::string_view text) : text_(text) {}

  DataTypePtr wholeType() {
    DataTypePtr type = parseType(0);
    expectEnd();
    return type;
  }

  DataTypePtr typePrefix(size_t* length) {
    DataTypePtr type = parseType(0);
    *length = position_;
    return type;
  }

  // Of the strings of what was parsed.
  const StringBounds& bounds() const { return bounds_; }

  SchemaPtr wholeColumnList() {
    std::vector<StructField> fields;
    do {
      fields.push_back(parseField(0, /*colonAllowed=*/true));
    } while (acceptSymbol(','));
    expectEnd();
    refuseBounds();
    return DataType::structOf(std::move(fields));
  }

  void refuseBounds() const {
    if (!hasBounds(bounds_)) return;
    throw Error("UNSUPPORTED_CHAR_OR_VARCHAR_AS_STRING",
                "The schema '" + std::string(text_) +
                    "' has CHAR or VARCHAR, which only the columns of tables can be: say STRING.");
  }

 private:
  Error syntaxError() {
    skipBlanks();
    const std::string near = position_ < text_.size() ? std::string(text_.substr(position_, 20)) : "end of input";
    return Error("PARSE_SYNTAX_ERROR", "The schema text '" + std::string(text_) + "' cannot be read near '" + near + "'.",
                 {{"error", "'" + near + "'"}, {"hint", ""}});
  }

  void skipBlanks() {
    while (position_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[position_]))) ++position_;
  }

  bool acceptSymbol(char symbol) {
    skipBlanks();
    if (position_ >= text_.size() || text_[position_] != symbol) return false;
    ++position_;
    return true;
  }

  void expectSymbol(char symbol) {
    if (!acceptSymbol(symbol)) throw syntaxError();
  }

  void expectEnd() {
    skipBlanks();
    if (position_ != text_.size()) throw syntaxError();
  }

  static bool isWordByte(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || (c & 0x80); }

  std::string_view peekWord() {
    skipBlanks();
    size_t end = position_;
    while (end < text_.size() && isWordByte(text_[end])) ++end;
    return text_.substr(position_, end - position_);
  }

  bool acceptWord(std::string_view word) {
    if (!equalsIgnoreCase(peekWord(), word)) return false;
    position_ += word.size();
    return true;
  }

  std::string parseName() {
    skipBlanks();
    if (position_ < text_.size() && text_[position_] == '`') {
      std::string name;
      for (++position_; position_ < text_.size(); ++position_) {
        if (text_[position_] == '`') {
          if (position_ + 1 < text_.size() && text_[position_ + 1] == '`') ++position_;
          else {
            ++position_;
            return name;
          }
        }
        name += text_[position_];
      }
      throw syntaxError();
    }
    const std::string_view word = peekWord();
    if (word.empty()) throw syntaxError();
    position_ += word.size();
    return std::string(word);
  }

  int parseInteger() {
    const std::string_view word = peekWord();
    int value = 0;
    auto [end, status] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (word.empty() || status != std::errc() || end != word.data() + word.size()) throw syntaxError();
    position_ += word.size();
    return value;
  }

  std::string parseQuoted() {
    skipBlanks();
    if (position_ >= text_.size() || (text_[position_] != '\'' && text_[position_] != '"')) throw syntaxError();
    const char quote = text_[position_++];
    std::string value;
    while (position_ < text_.size() && text_[position_] != quote) {
      if (text_[position_] == '\\' && position_ + 1 < text_.size()) ++position_;
      value += text_[position_++];
    }
    if (position_ >= text_.size()) throw syntaxError();
    ++position_;
    return value;
  }

  // name[:] type [NOT NULL] [COMMENT 'text'] [DEFAULT … is not a part of a schema]
  StructField parseField(int depth, bool colonAllowed) {
    StructField field;
    field.name = parseName();
    if (colonAllowed) acceptSymbol(':');
    field.type = parseType(depth + 1);
    for (;;) {
      if (acceptWord("not")) {
        if (!acceptWord("null")) throw syntaxError();
        field.nullable = false;
      } else if (acceptWord("comment")) {
        field.metadata = toJsonText(nlohmann::json{{"comment", parseQuoted()}});
      } else {
        return field;
      }
    }
  }

  DataTypePtr parseType(int depth) {
    if (depth > kMaxDepth) {
      throw Error("TOO_DEEPLY_NESTED", "The schema text nests types deeper than " + std::to_string(kMaxDepth) +
                                           " levels: types have at most as many.");
    }
    const std::string name = toLowerAscii(parseName());
    if (name == "array") {
      expectSymbol('<');
      DataTypePtr element = parseType(depth + 1);
      expectSymbol('>');
      return DataType::array(std::move(element));
    }
    if (name == "map") {
      expectSymbol('<');
      DataTypePtr key = parseType(depth + 1);
      expectSymbol(',');
      DataTypePtr value = parseType(depth + 1);
      expectSymbol('>');
      return DataType::map(std::move(key), std::move(value));
    }
    if (name == "struct") {
      std::vector<StructField> fields;
      expectSymbol('<');
      if (!acceptSymbol('>')) {
        do {
          fields.push_back(parseField(depth, true));
        } while (acceptSymbol(','));
        expectSymbol('>');
      }
      return DataType::structOf(std::move(fields));
    }
    if (name == "decimal" || name == "dec" || name == "numeric") return parseDecimal();
    if (name == "interval") return parseInterval();
    if (name == "varchar" || name == "char" || name == "character") return parseBoundedString(name);
    if (name == "string") bounds_.emplace_back();
    return parsePrimitive(name);
  }

  DataTypePtr parseBoundedString(const std::string& name) {
    if (!acceptSymbol('(')) {
      const std::string type = name == "varchar" ? "\"VARCHAR\"" : "\"CHAR\"";
      throw Error("DATATYPE_MISSING_SIZE", "The type " + type + " needs a length: " + name + "(10).",
                  {{"type", type}});
    }
    bounds_.push_back(
        {name == "varchar" ? StringBound::Kind::Varchar : StringBound::Kind::Char, parseInteger()});
    expectSymbol(')');
    return stringType();
  }

  DataTypePtr parsePrimitive(const std::string& name) {
    static const std::map<std::string_view, DataTypePtr> kNames = {
        {"boolean", booleanType()}, {"tinyint", byteType()},   {"byte", byteType()},     {"smallint", shortType()},
        {"short", shortType()},     {"int", intType()},        {"integer", intType()},   {"bigint", longType()},
        {"long", longType()},       {"float", floatType()},    {"real", floatType()},    {"double", doubleType()},
        {"date", dateType()},       {"timestamp", timestampType()}, {"timestamp_ltz", timestampType()},
        {"timestamp_ntz", timestampNtzType()}, {"string", stringType()}, {"binary", binaryType()}, {"void", voidType()},
        {"null", voidType()}, {"variant", DataType::primitive(TypeId::Variant)}};
    if (auto it = kNames.find(name); it != kNames.end()) return it->second;
    throw Error("UNSUPPORTED_DATATYPE", "'" + name + "' is no data type.", {{"typeName", "\"" + name + "\""}});
  }

  DataTypePtr parseDecimal() {
    if (!acceptSymbol('(')) return DataType::decimal(10, 0);
    const int precision = parseInteger();
    const int scale = acceptSymbol(',') ? parseInteger() : 0;
    expectSymbol(')');
    if (precision > 38) {
      throw Error("DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION",
                  "DECIMAL(" + std::to_string(precision) + ") is too wide: a decimal has at most 38 digits.",
                  {{"precision", std::to_string(precision)}, {"maxPrecision", "38"}});
    }
    if (precision < 1 || scale < 0 || scale > precision) throw syntaxError();
    return DataType::decimal(precision, scale);
  }

  DataTypePtr parseInterval() {
    std::string name = "interval";
    const std::string_view first = peekWord();
    for (std::string_view unit : {"year", "month", "day", "hour", "minute", "second"}) {
      if (!equalsIgnoreCase(first, unit)) continue;
      position_ += unit.size();
      name += " " + std::string(unit);
      if (acceptWord("to")) name += " to " + toLowerAscii(parseName());
      break;
    }
    DataTypePtr type = parseTypeName(name);
    if (!type) throw syntaxError();
    return type;
  }

  std::string_view text_;
  size_t position_ = 0;
  StringBounds bounds_;
};

std::string quotedName(const std::string& name) {
  bool plain = !name.empty() && !std::isdigit(static_cast<unsigned char>(name[0]));
  for (char c : name) plain = plain && (std::isalnum(static_cast<unsigned char>(c)) || c == '_');
  if (plain) return name;
  std::string quoted = "`";
  for (char c : name) quoted += c == '`' ? "``" : std::string(1, c);
  return quoted + "`";
}

std::string commentOf(const StructField& field) {
  if (field.metadata.empty()) return "";
  const auto metadata = parseJson(field.metadata);
  if (!metadata.is_object() || !metadata.contains("comment") || !metadata["comment"].is_string()) return "";
  std::string escaped;
  for (char c : metadata["comment"].get<std::string>()) {
    if (c == '\'' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return " COMMENT '" + escaped + "'";
}

// A whole schema given as one type.
DataTypePtr parseSchemaType(std::string_view text) {
  DdlParser parser(text);
  DataTypePtr type = parser.wholeType();
  parser.refuseBounds();
  return type;
}

bool startsWithBrace(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (text[first] == '{' || text[first] == '"');
}

// The type that a text is as a whole; null where it is none.
DataTypePtr wholeTypeOf(std::string_view text) {
  try {
    return parseSchemaType(text);
  } catch (const Error& error) {
    const std::string& condition = error.condition();
    if (condition == "UNSUPPORTED_CHAR_OR_VARCHAR_AS_STRING" || condition == "TOO_DEEPLY_NESTED") throw;
    return nullptr;
  }
}

}  // namespace

DataTypePtr parseTypeDdl(std::string_view text) { return DdlParser(text).wholeType(); }

DataTypePtr parseTypeDdlPrefix(std::string_view text, size_t* length, StringBounds* bounds) {
  DdlParser parser(text);
  DataTypePtr type = parser.typePrefix(length);
  if (bounds) *bounds = parser.bounds();
  return type;
}

SchemaPtr parseSchemaDdl(std::string_view text) {
  // A column list first: "struct<…>" as a whole is no column list, for a type must follow the name.
  try {
    return DdlParser(text).wholeColumnList();
  } catch (const Error&) {
    const DataTypePtr type = wholeTypeOf(text);
    if (type && type->id() == TypeId::Struct) return type;
    throw;
  }
}

SchemaPtr parseUserSchema(std::string_view text) {
  if (startsWithBrace(text)) {
    DataTypePtr type = parseSchemaJson(text);
    return type->id() == TypeId::Struct ? type : DataType::structOf({{"value", type}});
  }
  try {
    return parseSchemaDdl(text);
  } catch (const Error&) {
    if (const DataTypePtr type = wholeTypeOf(text)) return DataType::structOf({{"value", type}});
    throw;
  }
}

std::string toDdl(const Schema& schema) {
  std::string text;
  for (const StructField& field : schema.fields()) {
    text += (text.empty() ? "" : ",") + quotedName(field.name) + " " + field.type->sqlString() +
            (field.nullable ? "" : " NOT NULL") + commentOf(field);
  }
  return text;
}

}  // namespace thalweg
