// Leaves of a plan: tables, streaming sources, rows that a client sent, ranges, SQL text.
#include <utility>

#include <arrow/api.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/api.h>
#include <arrow/util/byte_size.h>
#include <spark/connect/relations.pb.h>

#include "common/clock.h"
#include "common/error.h"
#include "plan/analyze/char_padding.h"
#include "plan/analyze/relations.h"
#include "plan/analyze/sql_arguments.h"
#include "sql/parser.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"
#include "types/ddl.h"

namespace thalweg {
namespace {

namespace proto = spark::connect;

template <typename OptionMap>
Options optionsOf(const OptionMap& map) {
  Options options;
  for (const auto& [name, value] : map) options.set(name, value);
  return options;
}

std::vector<int> firstColumns(int count) {
  std::vector<int> columns(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) columns[static_cast<size_t>(i)] = i;
  return columns;
}

// What compressed rows of one message may grow to: a few bytes can stand for any number. Uncompressed ones end at the limit
// of a message, 128 MB.
constexpr int64_t kMaxRowBytes = int64_t{512} << 20;

// Arrow bytes from a client: an IPC stream, checked whole before anything trusts its offsets. Arrays of view types may still
// lie in `data` or in `pool`: a cast to the types of a plan copies them.
std::vector<std::shared_ptr<arrow::RecordBatch>> readArrowStream(const std::string& data, arrow::MemoryPool* pool,
                                                                 std::shared_ptr<arrow::Schema>* schema) {
  auto buffer = std::make_shared<arrow::Buffer>(reinterpret_cast<const uint8_t*>(data.data()), static_cast<int64_t>(data.size()));
  auto input = std::make_shared<arrow::io::BufferReader>(buffer);
  auto invalid = [](const std::string& why) {
    return Error("CONNECT_INVALID_PLAN.INVALID_ARROW_DATA", "The rows that the client sent cannot be read: " + why);
  };
  arrow::ipc::IpcReadOptions options = arrow::ipc::IpcReadOptions::Defaults();
  options.memory_pool = pool;
  options.use_threads = false;
  auto reader = arrow::ipc::RecordBatchStreamReader::Open(input.get(), options);
  if (!reader.ok()) throw invalid(reader.status().ToString());
  *schema = (*reader)->schema();
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  int64_t total = 0;
  for (;;) {
    auto batch = (*reader)->Next();
    if (!batch.ok()) throw invalid(batch.status().ToString());
    if (!*batch) return batches;
    if (const arrow::Status status = (*batch)->ValidateFull(); !status.ok()) throw invalid(status.ToString());
    // The message's buffers die with the request: copy.
    arrow::ArrayVector columns;
    for (const auto& column : (*batch)->columns()) {
      columns.push_back(valueOrThrow(arrow::Concatenate({column})));
    }
    batches.push_back(arrow::RecordBatch::Make((*batch)->schema(), (*batch)->num_rows(), std::move(columns)));
    total += arrow::util::TotalBufferSize(*batches.back());
    if (total > kMaxRowBytes) throw invalid("they grow beyond " + std::to_string(kMaxRowBytes >> 20) + " MB; send them in parts.");
  }
}

// TIMESTAMP AS OF an expression: the text of its value, in the session's zone.
std::string constantTimestamp(const std::string& text, const AnalyzerContext& context) {
  proto::Expression parsed;
  sql::parseExpression(text, &parsed);
  const Scope scope({}, nullptr, context.functions.caseSensitive);
  const ExpressionPtr time = castTo(ExpressionAnalyzer(scope, context).resolve(parsed), timestampType(), CastMode::Ansi);
  const BatchContext now{systemClock().nowMicros(), 0, TimeZone::parse(context.functions.timeZone), 0};
  const auto value = evaluateConstant(*castTo(time, stringType(), CastMode::Ansi), EvaluationContext{&now});
  if (!value->is_valid) {
    throw Error("INVALID_TIME_TRAVEL_TIMESTAMP_EXPR.INPUT", "The time to travel to is NULL: " + text + ".", {{"expr", "\"" + text + "\""}});
  }
  return static_cast<const arrow::StringScalar&>(*value).value->ToString();
}

}  // namespace

LogicalPtr tableScan(const std::shared_ptr<Table>& table, bool padsChars) {
  const std::vector<AttributePtr> output = attributesOf(*table->schema(), table->visibleColumns());
  const auto scan = std::make_shared<LogicalTableScan>(table, firstColumns(static_cast<int>(output.size())), output);
  return padsChars ? withPaddedChars(scan) : scan;
}

LogicalPtr streamScan(const FormatProvider& provider, const ReadDefinition& definition, const FileSystemRegistry& files) {
  if (!provider.streamSchema) throw unsupported("Reading the format '" + provider.name + "' as a stream");
  if (definition.paths.size() > 1) {
    throw Error("CONNECT_INVALID_PLAN.MULTIPLE_PATHS_NOT_SUPPORTED_FOR_STREAMING_SOURCE", "A streaming source takes one path.");
  }
  const StreamSchema schema = provider.streamSchema(definition, files);
  auto stream = std::make_shared<StreamSourceDefinition>();
  stream->format = provider.name;
  stream->options = definition.options;
  if (!definition.paths.empty()) stream->path = definition.paths[0];
  stream->userSchema = definition.userSchema;
  stream->schema = schema.schema;
  stream->visibleColumns = schema.visibleColumns;
  stream->corruptRecordColumn = definition.corruptRecordColumn;
  const std::vector<AttributePtr> output = attributesOf(*schema.schema, schema.visibleColumns);
  return std::make_shared<LogicalStreamScan>(stream, firstColumns(static_cast<int>(output.size())), output);
}

LogicalPtr RelationAnalyzer::read(const proto::Relation& relation) {
  return relation.read().has_named_table() ? namedTable(relation) : dataSource(relation);
}

LogicalPtr RelationAnalyzer::namedTable(const proto::Relation& relation) {
  const auto& table = relation.read().named_table();
  const std::vector<std::string> name = sql::parseMultipartIdentifier(table.unparsed_identifier());
  if (LogicalPtr named = findNamedRelation(name)) return std::make_shared<LogicalSubqueryAlias>(name, named);
  Options options = optionsOf(table.options());
  if (const auto text = options.get("timestampAsOfExpression")) {
    options.set("timestampAsOf", constantTimestamp(*text, context_));
    options.erase("timestampAsOfExpression");
  }
  if (LogicalPtr found = context_.findRelation(name, options, relation.read().is_streaming())) {
    return std::make_shared<LogicalSubqueryAlias>(name, found);
  }
  std::string quoted;
  for (const std::string& part : name) quoted += (quoted.empty() ? "`" : ".`") + part + "`";
  throw Error("TABLE_OR_VIEW_NOT_FOUND", "There is no table or view " + quoted + "; check its name and the current schema.",
              {{"relationName", quoted}});
}

LogicalPtr RelationAnalyzer::dataSource(const proto::Relation& relation) {
  const auto& source = relation.read().data_source();
  const std::string format = source.has_format() && !source.format().empty() ? source.format() : context_.defaultFormat;
  const FormatProvider& provider = context_.formats->find(format);
  ReadDefinition definition;
  definition.options = context_.readSettings;
  for (const auto& [name, value] : source.options()) definition.options.set(name, value);
  definition.paths.assign(source.paths().begin(), source.paths().end());
  if (definition.paths.empty()) {
    if (const auto path = definition.options.get("path")) definition.paths.push_back(*path);
  }
  if (source.has_schema() && !source.schema().empty()) definition.userSchema = parseUserSchema(source.schema());
  definition.timeZone = context_.functions.timeZone;
  definition.corruptRecordColumn = context_.functions.corruptRecordColumn;

  if (!relation.read().is_streaming()) {
    if (!provider.openTable) throw unsupported("Reading the format '" + provider.name + "' as a batch");
    return tableScan(provider.openTable(definition, context_.formats->fileSystems()), context_.padsChars);
  }
  return streamScan(provider, definition, context_.formats->fileSystems());
}

LogicalPtr RelationAnalyzer::localRelation(const std::string& data, const std::string& schemaText) {
  arrow::CappedMemoryPool pool(arrow::default_memory_pool(), kMaxRowBytes);
  std::shared_ptr<arrow::Schema> arrowSchema;
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  SchemaPtr schema = schemaText.empty() ? nullptr : parseUserSchema(schemaText);
  if (!data.empty()) {
    batches = readArrowStream(data, &pool, &arrowSchema);
    const SchemaPtr sent = fromArrowSchema(*arrowSchema);
    if (!schema) schema = sent;
    if (schema->fields().size() != sent->fields().size()) {
      throw Error("CONNECT_INVALID_PLAN.INVALID_ARROW_DATA", "The rows that the client sent do not have the columns of their schema.");
    }
    // The client's Arrow types (large strings, other time units, zones) become ours.
    const BatchContext batchContext{0, 0, TimeZone::parse(context_.functions.timeZone), 0};
    const EvaluationContext evaluation{&batchContext};
    for (auto& batch : batches) {
      arrow::ArrayVector columns;
      for (int i = 0; i < batch->num_columns(); ++i) {
        auto own = arrow::compute::Cast(batch->column(i), toArrowType(*sent->fields()[i].type));
        if (!own.ok()) throw Error("CONNECT_INVALID_PLAN.INVALID_ARROW_DATA", own.status().ToString());
        columns.push_back(castArray(own->make_array(), *sent->fields()[i].type, *schema->fields()[i].type, CastMode::Ansi, evaluation));
      }
      batch = arrow::RecordBatch::Make(toArrowSchema(*schema), batch->num_rows(), std::move(columns));
    }
  }
  if (!schema) throw Error("CONNECT_INVALID_PLAN.LOCAL_RELATION", "A local relation has neither rows nor a schema.");
  return std::make_shared<LogicalLocalRelation>(attributesOf(*schema), std::move(batches));
}

LogicalPtr RelationAnalyzer::cachedLocalRelation(const proto::Relation& relation) {
  if (relation.has_cached_local_relation()) {
    proto::LocalRelation local;
    if (!local.ParseFromString(context_.cachedArtifact(relation.cached_local_relation().hash()))) {
      throw Error("CONNECT_INVALID_PLAN.INVALID_ARROW_DATA", "The uploaded rows are no local relation.");
    }
    return localRelation(local.data(), local.schema());
  }
  const auto& chunked = relation.chunked_cached_local_relation();
  const std::string schema = chunked.has_schemahash() ? context_.cachedArtifact(chunked.schemahash()) : "";
  std::vector<LogicalPtr> parts;
  for (const std::string& hash : chunked.datahashes()) parts.push_back(localRelation(context_.cachedArtifact(hash), schema));
  if (parts.empty()) return localRelation("", schema);
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  for (const LogicalPtr& part : parts) {
    for (const auto& batch : static_cast<const LogicalLocalRelation&>(*part).batches()) batches.push_back(batch);
  }
  return std::make_shared<LogicalLocalRelation>(parts[0]->output(), std::move(batches));
}

LogicalPtr RelationAnalyzer::range(const proto::Relation& relation) {
  const auto& range = relation.range();
  if (range.step() == 0) throw Error(ErrorKind::IllegalArgument, "INVALID_RANGE_STEP", "The step of a range must not be 0.");
  auto id = std::make_shared<Attribute>("id", longType(), false, nextExpressionId());
  return std::make_shared<LogicalRange>(range.start(), range.end(), range.step(),
                                        range.has_num_partitions() ? range.num_partitions() : context_.defaultParallelism,
                                        std::vector<AttributePtr>{id});
}

LogicalPtr RelationAnalyzer::sqlText(const proto::Relation& relation) {
  const SqlArguments arguments(relation.sql(), context_.functions.timeZone);
  proto::Relation parsed;
  sql::parseQuery(relation.sql().query(), &parsed, arguments.options());
  return analyze(parsed);
}

LogicalPtr RelationAnalyzer::tableFunction(const proto::Relation& relation) {
  const auto& call = relation.unresolved_table_valued_function();
  if (isTableChanges(call)) return tableChanges(call);
  if (!equalsIgnoreCase(call.function_name(), "range")) {
    const LogicalPtr generated = generate(call, singleRow(), false, {}, {});
    // Without the one row's own column.
    const auto& columns = generated->output();
    return std::make_shared<LogicalProject>(std::vector<ExpressionPtr>(columns.begin() + 1, columns.end()), generated);
  }
  if (call.arguments_size() < 1 || call.arguments_size() > 4) {
    throw Error("WRONG_NUM_ARGS.WITHOUT_SUGGESTION", "range takes [start,] end [, step [, partitions]].",
                {{"functionName", "`range`"}, {"expectedNum", "1 to 4"}, {"actualNum", std::to_string(call.arguments_size())}, {"docroot", ""}});
  }
  const Scope scope({}, nullptr, context_.functions.caseSensitive);
  std::vector<int64_t> numbers;
  for (const auto& argument : call.arguments()) {
    const ExpressionPtr number = castTo(ExpressionAnalyzer(scope, context_).resolve(argument), longType(), CastMode::Ansi);
    const auto value = evaluateConstant(*number, EvaluationContext{&constants_});
    if (!value->is_valid) throw Error("DATATYPE_MISMATCH.UNEXPECTED_NULL", "range takes no NULL.", {{"exprName", "range"}, {"sqlExpr", "range"}});
    numbers.push_back(static_cast<const arrow::Int64Scalar&>(*value).value);
  }
  proto::Relation range;
  if (numbers.size() > 1) range.mutable_range()->set_start(numbers[0]);
  range.mutable_range()->set_end(numbers[numbers.size() > 1 ? 1 : 0]);
  range.mutable_range()->set_step(numbers.size() > 2 ? numbers[2] : 1);
  if (numbers.size() > 3) range.mutable_range()->set_num_partitions(static_cast<int32_t>(std::clamp<int64_t>(numbers[3], 1, 10'000)));
  return this->range(range);
}

}  // namespace thalweg
