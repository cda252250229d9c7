// Plans of a session: analysis, explain, running relations.
#include <arrow/api.h>
#include <spark/connect/base.pb.h>

#include "commands/file_tables.h"
#include "common/error.h"
#include "common/secret.h"
#include "exec/planner/planner.h"
#include "plan/analyze/delta_messages.h"
#include "plan/analyze/proto_types.h"
#include "plan/optimize/optimizer.h"
#include "session/observed_metrics.h"
#include "session/results.h"
#include "session/session.h"
#include "session/show_string.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"
#include "types/ddl.h"
#include "types/schema_json.h"
#include "types/text/number_text.h"

namespace thalweg {
namespace {

namespace proto = spark::connect;

constexpr const char* kSparkVersion = "4.2.0";

void appendTree(const DataType& type, const std::string& prefix, int level, std::string* out);

void appendTreeField(const std::string& name, const DataType& type, const char* nullLabel, bool nullable, const std::string& prefix,
                     int level, std::string* out) {
  if (level <= 0) return;
  *out += prefix + "-- " + name + ": " + type.typeName() + " (" + nullLabel + " = " + (nullable ? "true" : "false") + ")\n";
  appendTree(type, prefix + "    |", level - 1, out);
}

void appendTree(const DataType& type, const std::string& prefix, int level, std::string* out) {
  switch (type.id()) {
    case TypeId::Struct:
      for (const StructField& field : type.fields()) appendTreeField(field.name, *field.type, "nullable", field.nullable, prefix, level, out);
      return;
    case TypeId::Array: appendTreeField("element", *type.element(), "containsNull", type.containsNull(), prefix, level, out); return;
    case TypeId::Map:
      if (level <= 0) return;
      *out += prefix + "-- key: " + type.key()->typeName() + "\n";
      appendTree(*type.key(), prefix + "    |", level - 1, out);
      appendTreeField("value", *type.value(), "valueContainsNull", type.containsNull(), prefix, level, out);
      return;
    default: return;
  }
}

const proto::Relation& rootOf(const proto::Plan& plan) {
  if (!plan.has_root()) throw Error("CONNECT_INVALID_PLAN.NOT_A_RELATION", "This request takes a plan with a relation.");
  return plan.root();
}

void collectFiles(const LogicalNode& node, std::vector<std::string>* files) {
  if (node.kind() == LogicalKind::TableScan) {
    for (std::string& file : static_cast<const LogicalTableScan&>(node).table()->inputFiles()) files->push_back(std::move(file));
  }
  for (const LogicalPtr& child : node.children()) collectFiles(*child, files);
}

bool isLocal(const LogicalNode& node) {
  if (node.children().empty()) return node.kind() == LogicalKind::LocalRelation;
  return (node.kind() == LogicalKind::Project || node.kind() == LogicalKind::SubqueryAlias) && isLocal(*node.child());
}

void refuseStreaming(const LogicalNode& plan) {
  if (!plan.isStreaming()) return;
  throw Error("_LEGACY_ERROR_TEMP_3102", "Queries with streaming sources must be executed with writeStream.start().",
              {{"msg", "Queries with streaming sources must be executed with writeStream.start()"}});
}

}  // namespace

BatchContext Session::batchContext() const {
  BatchContext context;
  context.timestampMicros = systemClock().nowMicros();
  context.timeZone = TimeZone::parse(setting("spark.sql.session.timeZone"));
  context.randomSeed = context.timestampMicros;
  return context;
}

AnalyzerContext Session::analyzerContext(CancellationToken cancellation, const ResolutionScope& scope,
                                         std::vector<ObservedMetrics>* observed) {
  const auto captured = [&](const std::string& key) {
    const auto it = scope.settings.find(key);
    return it != scope.settings.end() ? it->second : setting(key);
  };
  AnalyzerContext context;
  context.functions.ansi = captured("spark.sql.ansi.enabled") == "true";
  context.functions.timeZone = captured("spark.sql.session.timeZone");
  context.functions.caseSensitive = captured("spark.sql.caseSensitive") == "true";
  context.functions.corruptRecordColumn = setting("spark.sql.columnNameOfCorruptRecord");
  context.formats = &server_->formats;
  context.defaultFormat = captured("spark.sql.sources.default");
  takeFileReadSettings([this](const std::string& key) { return lookUp(key); }, &context.readSettings);
  context.defaultParallelism = server_->pool.numSlots();
  context.padsChars = setting("spark.sql.readSideCharPadding") == "true";
  context.shufflePartitions = static_cast<int>(
      parseIntegral(setting("spark.sql.shuffle.partitions"), 1, 1'000'000, false).value_or(200));
  context.currentCatalog = scope.names.catalog;
  context.currentSchema = scope.names.schema;
  context.findRelation = [this, scope, cancellation](const std::vector<std::string>& name, const Options& options, bool streaming) {
    return findRelation(name, options, streaming, scope, cancellation);
  };
  context.catalogQuery = [this, cancellation](const proto::Catalog& query) { return catalogQuery(query, cancellation); };
  context.deltaQuery = [this, cancellation](auto& query) { return deltaQuery(query, cancellation); };
  context.cachedArtifact = [this](const std::string& hash) {
    std::lock_guard lock(mutex_);
    auto it = artifacts_.find("cache/" + hash);
    if (it == artifacts_.end()) {
      throw Error("CONNECT_INVALID_PLAN.MISSING_ARTIFACT", "The plan refers to rows that were not uploaded (cache/" + hash + ").");
    }
    return it->second;
  };
  context.collectRows = [this, cancellation](const LogicalPtr& plan) { return collect(plan, cancellation, nullptr); };
  context.drawRows = [this, cancellation, observed](const LogicalPtr& plan, int numRows, int truncate, bool vertical) -> LogicalPtr {
    refuseStreaming(*plan);
    const int wanted = std::max(0, std::min(numRows, 1'000'000));
    const auto batches = collect(std::make_shared<LogicalLimit>(wanted + 1, 0, false, plan), cancellation, observed);
    const std::string text = drawTable(*schemaOf(*plan), batches, wanted, truncate, vertical, batchContext().timeZone);
    const SchemaPtr schema = DataType::structOf({{"show_string", stringType(), false}});
    arrow::StringBuilder builder;
    throwIfFailed(builder.Append(text));
    auto batch = arrow::RecordBatch::Make(toArrowSchema(*schema), 1, {valueOrThrow(builder.Finish())});
    return std::make_shared<LogicalLocalRelation>(attributesOf(*schema), std::vector{std::move(batch)});
  };
  return context;
}

LogicalPtr Session::resolve(const proto::Relation& relation, CancellationToken cancellation, std::vector<ObservedMetrics>* observed) {
  return analyzeRelation(relation, analyzerContext(std::move(cancellation), {names()}, observed));
}

LogicalPtr Session::resolveUnrun(const proto::Relation& relation) {
  AnalyzerContext context = analyzerContext({}, {names()});
  context.deltaQuery = [this](auto& query) {
    if (changesTable(query)) throw unsupported("Asking about the result of a change to a Delta table without making the change");
    return deltaQuery(query, {});
  };
  return analyzeRelation(relation, context);
}

std::vector<std::shared_ptr<arrow::RecordBatch>> Session::collect(const LogicalPtr& plan, CancellationToken cancellation,
                                                                  std::vector<ObservedMetrics>* observed) {
  Execution execution;
  execution.batch = batchContext();
  execution.cancellation = std::move(cancellation);
  execution.pool = &server_->pool;
  const PhysicalPtr physical = planPhysical(optimize(plan), execution.batch);
  const auto running = physical->start(execution);
  auto batches = collectAll(*running, execution);
  if (observed) addObserved(execution, observed);
  return batches;
}

void Session::runRelation(const proto::Relation& relation, ResponseSink& sink) {
  std::vector<ObservedMetrics> observed;
  const LogicalPtr plan = resolve(relation, sink.cancellation(), &observed);
  refuseStreaming(*plan);
  ResultWriter results(schemaOf(*plan), setting("spark.sql.session.timeZone"), sink);
  Execution execution;
  execution.batch = batchContext();
  execution.cancellation = sink.cancellation();
  execution.pool = &server_->pool;
  const PhysicalPtr physical = planPhysical(optimize(plan), execution.batch);
  const auto running = physical->start(execution);
  forEachBatch(*running, execution, [&](const auto& batch) { results.write(batch); });
  results.finish();
  addObserved(execution, &observed);
  sendObservedMetrics(observed, sink);
}

std::string Session::explain(const LogicalPtr& plan, bool extended) {
  const LogicalPtr optimized = optimize(plan);
  std::string text;
  if (extended) {
    text += "== Analyzed Logical Plan ==\n" + treeString(*plan) + "\n== Optimized Logical Plan ==\n" + treeString(*optimized) + "\n";
  }
  text += "== Physical Plan ==\n";
  return maskSecrets(text + (plan->isStreaming() ? treeString(*optimized) : physicalTreeString(*planPhysical(optimized, batchContext()))));
}

void Session::analyze(const proto::AnalyzePlanRequest& request, proto::AnalyzePlanResponse* response) {
  using Kind = proto::AnalyzePlanRequest;
  switch (request.analyze_case()) {
    case Kind::kSchema: toProtoType(*schemaOf(*resolveUnrun(rootOf(request.schema().plan()))), response->mutable_schema()->mutable_schema()); return;
    case Kind::kExplain: {
      const auto mode = request.explain().explain_mode();
      const bool extended = mode == Kind::Explain::EXPLAIN_MODE_EXTENDED || mode == Kind::Explain::EXPLAIN_MODE_COST;
      response->mutable_explain()->set_explain_string(explain(resolveUnrun(rootOf(request.explain().plan())), extended));
      return;
    }
    case Kind::kTreeString: {
      std::string text = "root\n";
      const int level = request.tree_string().has_level() && request.tree_string().level() > 0 ? request.tree_string().level() : 1000;
      appendTree(*schemaOf(*resolveUnrun(rootOf(request.tree_string().plan()))), " |", level, &text);
      response->mutable_tree_string()->set_tree_string(text);
      return;
    }
    case Kind::kIsLocal: response->mutable_is_local()->set_is_local(isLocal(*resolveUnrun(rootOf(request.is_local().plan())))); return;
    case Kind::kIsStreaming:
      response->mutable_is_streaming()->set_is_streaming(resolveUnrun(rootOf(request.is_streaming().plan()))->isStreaming());
      return;
    case Kind::kInputFiles: {
      std::vector<std::string> files;
      collectFiles(*resolveUnrun(rootOf(request.input_files().plan())), &files);
      std::sort(files.begin(), files.end());
      files.erase(std::unique(files.begin(), files.end()), files.end());
      response->mutable_input_files();
      for (const std::string& file : files) response->mutable_input_files()->add_files(file);
      return;
    }
    case Kind::kSparkVersion: response->mutable_spark_version()->set_version(kSparkVersion); return;
    case Kind::kDdlParse: {
      DataTypePtr type;
      try {
        type = parseSchemaDdl(request.ddl_parse().ddl_string());
      } catch (const Error&) {
        type = parseTypeDdl(request.ddl_parse().ddl_string());
      }
      toProtoType(*type, response->mutable_ddl_parse()->mutable_parsed());
      return;
    }
    case Kind::kJsonToDdl:
      response->mutable_json_to_ddl()->set_ddl_string(toDdl(*parseSchemaJson(request.json_to_ddl().json_string())));
      return;
    case Kind::kSameSemantics: {
      const std::string target = treeString(*resolveUnrun(rootOf(request.same_semantics().target_plan())));
      response->mutable_same_semantics()->set_result(target == treeString(*resolveUnrun(rootOf(request.same_semantics().other_plan()))));
      return;
    }
    case Kind::kSemanticHash: {
      const std::string text = treeString(*resolveUnrun(rootOf(request.semantic_hash().plan())));
      response->mutable_semantic_hash()->set_result(static_cast<int32_t>(std::hash<std::string>()(text)));
      return;
    }
    // Frames are not kept: reading again gives the same rows.
    case Kind::kPersist: response->mutable_persist(); return;
    case Kind::kUnpersist: response->mutable_unpersist(); return;
    case Kind::kGetStorageLevel: {
      auto* level = response->mutable_get_storage_level()->mutable_storage_level();
      level->set_replication(1);
      return;
    }
    default: throw Error("CONNECT_INVALID_PLAN.ANALYZE", "The analysis request asks for nothing that this server knows.");
  }
}

}  // namespace thalweg
