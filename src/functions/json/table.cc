// JSON texts and values.
#include <arrow/api.h>

#include "common/error.h"
#include "formats/json/json_parser.h"
#include "formats/json/json_writer.h"
#include "functions/coercion.h"
#include "functions/kernel_support.h"
#include "functions/registry.h"
#include "types/ddl.h"

namespace thalweg {
namespace {

std::string constantText(const ExpressionPtr& argument, const char* function, const char* what) {
  if (argument->type()->id() == TypeId::String && argument->foldability() == Foldability::Always) {
    const BatchContext batch;
    const auto value = evaluateConstant(*argument, EvaluationContext{&batch});
    if (value->is_valid) return std::string(static_cast<const arrow::StringScalar&>(*value).view());
  }
  throw Error("DATATYPE_MISMATCH.NON_FOLDABLE_INPUT",
              std::string(function) + " takes its " + what + " as a constant text, not '" + argument->toString() + "'.",
              {{"inputName", what}, {"inputType", "STRING"}, {"inputExpr", "\"" + argument->toString() + "\""}, {"sqlExpr", function}});
}

// A map of constants, as clients send options.
Options constantOptions(const FunctionCall& call, size_t index, const char* function) {
  Options options;
  if (call.arguments.size() <= index) return options;
  const ExpressionPtr& argument = call.arguments[index];
  if (argument->type()->id() != TypeId::Map || argument->foldability() != Foldability::Always) {
    throw Error("INVALID_OPTIONS.NON_MAP_FUNCTION", std::string(function) + " takes its options as a map() of constants.");
  }
  const BatchContext batch;
  const auto value = evaluateConstant(*argument, EvaluationContext{&batch});
  const auto entries = static_cast<const arrow::MapScalar&>(*value).value;
  const auto& rows = static_cast<const arrow::StructArray&>(*entries);
  const auto keys = std::static_pointer_cast<arrow::StringArray>(rows.field(0));
  if (rows.field(1)->type_id() != arrow::Type::STRING) {
    throw Error("INVALID_OPTIONS.NON_STRING_TYPE", std::string(function) + " takes options with text values.");
  }
  const auto values = std::static_pointer_cast<arrow::StringArray>(rows.field(1));
  for (int64_t i = 0; i < rows.length(); ++i) options.set(keys->GetString(i), values->GetString(i));
  return options;
}

DataTypePtr schemaArgument(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && (text[first] == '{' || text[first] == '"')) return parseUserSchema(text);
  // A type first ("array<int>"), else a list of columns.
  try {
    const DataTypePtr type = parseTypeDdl(text);
    if (type->isNested()) return type;
  } catch (const Error&) {
  }
  return parseSchemaDdl(text);
}

ExpressionPtr resolveFromJson(const FunctionCall& call, const FunctionContext& context) {
  const DataTypePtr schema = schemaArgument(constantText(call.arguments[1], "from_json", "schema"));
  if (!schema->isNested()) {
    throw Error("DATATYPE_MISMATCH.INVALID_JSON_SCHEMA",
                "from_json makes structs, arrays and maps, not " + schema->sqlString() + ".",
                {{"schema", "\"" + schema->sqlString() + "\""}, {"sqlExpr", "\"from_json\""}});
  }
  Options options = constantOptions(call, 2, "from_json");
  if (!options.has("columnNameOfCorruptRecord")) options.set("columnNameOfCorruptRecord", context.corruptRecordColumn);
  const auto parser = std::make_shared<const JsonParser>(schema, JsonOptions::parse(options, TimeZone::parse(context.timeZone)));
  const ExpressionPtr text = call.arguments[0]->type()->id() == TypeId::Binary
                                 ? call.arguments[0]
                                 : implicitCast(call.arguments[0], stringType(), "from_json", 1, context);
  auto kernel = [parser](const KernelContext& c, const std::vector<arrow::Datum>& arguments) -> arrow::Datum {
    const auto texts = argumentArray(c, arguments[0]);
    const auto worker = parser->newWorker(c.evaluation.memoryPool());
    if (c.selection.isAll()) return worker->parse(*texts);
    std::vector<int32_t> rows;
    c.selection.forEach([&](int64_t row) { rows.push_back(static_cast<int32_t>(row)); });
    return worker->parse(*texts, std::span<const int32_t>(rows));
  };
  // Schema and options stay among the arguments: two calls are the same only where these are.
  std::vector<ExpressionPtr> arguments = {text, call.arguments[1]};
  if (call.arguments.size() > 2) arguments.push_back(call.arguments[2]);
  return makeCall("from_json", std::move(arguments), parser->resultType(), kernel, true,
                  [](const std::vector<std::string>& a) { return "from_json(" + a[0] + ")"; });
}

ExpressionPtr resolveToJson(const FunctionCall& call, const FunctionContext& context) {
  const DataTypePtr& type = call.arguments[0]->type();
  const Options options = constantOptions(call, 1, "to_json");
  const auto writer = std::make_shared<const JsonWriter>(type, JsonOptions::parse(options, TimeZone::parse(context.timeZone)));
  auto kernel = [writer](const KernelContext& c, const std::vector<arrow::Datum>& arguments) -> arrow::Datum {
    return writer->write(*argumentArray(c, arguments[0]));
  };
  return makeCall("to_json", call.arguments, stringType(), kernel, false,
                  [](const std::vector<std::string>& a) { return "to_json(" + a[0] + ")"; });
}

}  // namespace

std::span<const FunctionRow> jsonFunctions() {
  static const FunctionRow rows[] = {
      {"from_json", 2, 3, resolveFromJson},
      {"to_json", 1, 2, resolveToJson},
  };
  return rows;
}

}  // namespace thalweg
