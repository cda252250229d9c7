#include "streaming/batch/micro_batch.h"

#include <charconv>
#include <filesystem>

#include <arrow/record_batch.h>

#include "common/error.h"
#include "common/logging.h"
#include "exec/pipeline/write.h"
#include "exec/planner/planner.h"
#include "plan/logical/event_time.h"
#include "plan/optimize/optimizer.h"
#include "state/state_schema.h"
#include "streaming/query/observed_json.h"

namespace thalweg {
namespace {

// Numbers the streaming leaves from the left (Spark's order of sources in the offset log), and the watermarks.
LogicalPtr numberStreams(const LogicalPtr& plan, std::vector<std::shared_ptr<const StreamSourceDefinition>>* sources,
                         std::vector<int64_t>* watermarkDelaysMs) {
  return transformUp(plan, [&](const LogicalPtr& node) -> LogicalPtr {
    if (node->kind() == LogicalKind::StreamScan) {
      const auto& scan = static_cast<const LogicalStreamScan&>(*node);
      sources->push_back(scan.source());
      return std::make_shared<LogicalStreamScan>(scan.source(), scan.columns(), scan.output(), static_cast<int>(sources->size()) - 1);
    }
    if (node->kind() == LogicalKind::EventTimeWatermark) {
      const auto& watermark = static_cast<const LogicalEventTimeWatermark&>(*node);
      watermarkDelaysMs->push_back(watermark.delayMs());
      return std::make_shared<LogicalEventTimeWatermark>(watermark.eventTime(), watermark.delayMs(), watermark.child(),
                                                         static_cast<int>(watermarkDelaysMs->size()) - 1);
    }
    return node;
  });
}

int numStatePartitions(const std::map<std::string, std::string>& configuration) {
  constexpr const char* kKey = "spark.sql.shuffle.partitions";
  constexpr int kMost = 100'000;
  const auto found = configuration.find(kKey);
  const std::string text = found == configuration.end() ? "" : found->second;
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && number > 0 && number <= kMost) return number;
  throw Error("INVALID_CONF_VALUE.TYPE_MISMATCH",
              std::string("The setting ") + kKey + " must be a number from 1 to " + std::to_string(kMost) + ", but is '" + text + "'.",
              {{"confName", kKey}, {"confValue", text}, {"confType", "int"}});
}

}  // namespace

MicroBatchExecution::MicroBatchExecution(StreamingQueryDefinition& definition, Checkpoint& checkpoint, std::string runId,
                                         CancellationToken cancellation,
                                         std::function<void(const std::string& message)> statusChanged)
    : definition_(definition),
      checkpoint_(checkpoint),
      runId_(std::move(runId)),
      cancellation_(std::move(cancellation)),
      statusChanged_(std::move(statusChanged)) {}

MicroBatchExecution::~MicroBatchExecution() = default;

template <typename F>
auto MicroBatchExecution::timed(QueryProgress* progress, const char* step, F&& f) {
  struct Stopwatch {
    const Clock& clock;
    int64_t& total;
    std::chrono::steady_clock::time_point start = clock.monotonic();
    ~Stopwatch() { total += std::chrono::duration_cast<std::chrono::milliseconds>(clock.monotonic() - start).count(); }
  } stopwatch{*definition_.clock, progress->durationMs[step]};
  return f();
}

void MicroBatchExecution::initialize() {
  statusChanged_("Initializing sources");
  checkpoint_.removeAbandonedFiles();
  openSources();
  restore();
  // The policy is the one that the query was first started with.
  const auto policy = definition_.loggedConfiguration.find("spark.sql.streaming.multipleWatermarkPolicy");
  watermark_.emplace(watermarkDelaysMs_,
                     policy == definition_.loggedConfiguration.end() ? WatermarkPolicy::Min : parseWatermarkPolicy(policy->second),
                     entry_.watermarkMs);
  openState();
}

void MicroBatchExecution::openState() {
  const auto& configuration = definition_.loggedConfiguration;
  StateContext context;
  context.fileSystem = checkpoint_.folder().fileSystem;
  context.stateFolder = checkpoint_.folder().path + "/state";
  context.configuration = configuration;
  context.numPartitions = numStatePartitions(configuration);
  context.minVersionsToRetain = definition_.minBatchesToRetain;
  context.temporaryFolder =
      definition_.temporaryFolder.empty() ? std::filesystem::temp_directory_path().string() : definition_.temporaryFolder;
  context.memoryBytes = definition_.stateMemoryBytes;
  context.pool = definition_.pool;
  state_.emplace(*plan_, *physical_, std::move(context));
  if (!checkpoint_.offsets().latest()) state_->checkIsEmpty();
}

// The watermark that the last batch left may have passed groups that no new record will ever touch.
bool MicroBatchExecution::wantsCleanup() const {
  return definition_.noDataBatches && ranUnderWatermarkMs_ && state_->wantsAnotherBatch(*ranUnderWatermarkMs_, watermark_->currentMs());
}

void MicroBatchExecution::openSources() {
  std::vector<std::shared_ptr<const StreamSourceDefinition>> definitions;
  plan_ = numberStreams(definition_.plan, &definitions, &watermarkDelaysMs_);
  for (size_t i = 0; i < definitions.size(); ++i) {
    const StreamSourceDefinition& source = *definitions[i];
    StreamSourceContext context;
    context.metadataFolder = checkpoint_.sourceFolder(static_cast<int>(i));
    context.timeZone = definition_.timeZone;
    context.clock = definition_.clock;
    context.queryId = checkpoint_.queryId();
    context.cancellation = &cancellation_;
    context.settings = definition_.settings;
    context.schema = source.schema;
    ReadDefinition read;
    read.options = source.options;
    if (source.path) read.paths.push_back(*source.path);
    read.userSchema = source.userSchema;
    read.timeZone = definition_.timeZone;
    read.corruptRecordColumn = source.corruptRecordColumn;
    auto opened = definition_.formats->find(source.format).openStream(read, definition_.formats->fileSystems(), context);
    for (const auto& other : sources_) opened->checkBeside(*other);
    sources_.push_back(std::move(opened));
  }
  // Planned once; every micro-batch binds its own ranges and time.
  const LogicalPtr optimized = optimize(plan_);
  BatchContext constants;
  constants.timeZone = TimeZone::parse(definition_.timeZone);
  const StreamingPlanning streaming{definition_.mode, [this](int operatorId) -> SchemaPtr {
                                      const StateStoreId id{checkpoint_.folder().path + "/state", operatorId};
                                      const auto stored = readStateSchema(*checkpoint_.folder().fileSystem, id);
                                      return stored ? stored->key : nullptr;
                                    }};
  physical_ = planPhysical(optimized, constants, &streaming);
  outputSchema_ = schemaOf(*optimized);
  staticTables_ = StaticTables(*optimized);
}

OffsetEntry MicroBatchExecution::readChecked(int64_t batchId) const {
  auto logged = checkpoint_.readOffsets(batchId);
  if (!logged) {
    throw Error("STREAMING_CHECKPOINT_LOG_CORRUPT",
                "The checkpoint " + checkpoint_.folder().path + " has batch " + std::to_string(batchId + 1) +
                    " but not the one before it, from which it goes on.",
                {{"path", checkpoint_.folder().path}});
  }
  if (logged->offsets.size() != sources_.size()) {
    throw Error("STREAMING_CHECKPOINT_SOURCES_CHANGED",
                "The checkpoint " + checkpoint_.folder().path + " belongs to a query with " + std::to_string(logged->offsets.size()) +
                    " sources, but this one has " + std::to_string(sources_.size()) + "; sources cannot be added or removed.");
  }
  for (size_t i = 0; i < sources_.size(); ++i) {
    if (!logged->offsets[i]) continue;
    try {
      sources_[i]->checkLoggedOffset(*logged->offsets[i]);
    } catch (const Error& error) {
      // The version and the batch's own line come first.
      const std::string path = checkpoint_.folder().child("offsets").child(std::to_string(batchId)).path;
      const std::string line = std::to_string(i + 3);
      throw Error("STREAMING_CHECKPOINT_LOG_CORRUPT",
                  "Line " + line + " of the checkpoint file " + path + " cannot be used: " + error.text(),
                  {{"path", path}, {"line", line}})
          .withCause(error);
    }
  }
  return std::move(*logged);
}

void MicroBatchExecution::restore() {
  committed_.assign(sources_.size(), std::nullopt);
  const auto latest = checkpoint_.offsets().latest();
  // Offsets are written before a batch runs: where they are missing, the batch would be planned again, over other records,
  // and the sink would skip it as done.
  const auto finished = checkpoint_.commits().latest();
  if (finished && (!latest || *finished > *latest)) {
    throw Error("STREAMING_CHECKPOINT_LOG_CORRUPT",
                "The checkpoint " + checkpoint_.folder().path + " has finished batch " + std::to_string(*finished) +
                    " but not its offsets: files of it are lost. Restore offsets/" + std::to_string(*finished) +
                    ", or start with a new checkpoint.",
                {{"path", checkpoint_.folder().path}});
  }
  if (!latest) return;
  OffsetEntry logged = readChecked(*latest);
  // A log that lacks these settings is of a Spark that knew one format only.
  for (const char* format : {"spark.sql.streaming.aggregation.stateFormatVersion", "spark.sql.streaming.join.stateFormatVersion"}) {
    if (!logged.configuration.contains(format)) definition_.loggedConfiguration[format] = "1";
  }
  for (const auto& [key, value] : logged.configuration) {
    auto it = definition_.loggedConfiguration.find(key);
    if (it != definition_.loggedConfiguration.end() && it->second != value) {
      logWarn("query {}: {} stays {} as its checkpoint has it; the session's {} is not used", checkpoint_.queryId(), key, value, it->second);
    }
    definition_.loggedConfiguration[key] = value;
  }
  if (checkpoint_.commits().has(*latest)) {
    batchId_ = *latest + 1;
    committed_ = logged.offsets;
    previousWatermarkMs_ = logged.watermarkMs;
    entry_.watermarkMs = std::max(logged.watermarkMs, checkpoint_.readCommit(*latest)->nextWatermarkMs);
    return;
  }
  // Batch N was planned but not finished: it runs again over exactly its range.
  batchId_ = *latest;
  replaying_ = true;
  entry_ = std::move(logged);
  if (*latest > 0) {
    OffsetEntry previous = readChecked(*latest - 1);
    previousWatermarkMs_ = previous.watermarkMs;
    committed_ = std::move(previous.offsets);
  }
}

bool MicroBatchExecution::prepareForAvailableNow() {
  bool all = true;
  for (const auto& source : sources_) all = source->prepareForAvailableNow() && all;
  return all;
}

bool MicroBatchExecution::planRange(bool ignoreLimits, QueryProgress* progress) {
  entry_.offsets.assign(sources_.size(), std::nullopt);
  bool hasData = false;
  for (size_t i = 0; i < sources_.size(); ++i) {
    statusChanged_("Getting offsets from " + sources_[i]->description());
    timed(progress, "latestOffset", [&] {
      auto start = committed_[i];
      // A first start is kept by the source itself, so that a restart before offsets/0 begins at the same place.
      if (!start) start = sources_[i]->initialOffset();
      entry_.offsets[i] = sources_[i]->latestOffset(start, ignoreLimits);
      if (!entry_.offsets[i]) entry_.offsets[i] = committed_[i];
      hasData = hasData || (entry_.offsets[i] && entry_.offsets[i] != start);
    });
  }
  return hasData;
}

StreamBatch MicroBatchExecution::sinkBatch() const {
  return {batchId_, checkpoint_.queryId(), runId_, definition_.mode, outputSchema_, replaying_};
}

void MicroBatchExecution::writeOffsets(QueryProgress* progress) {
  entry_.watermarkMs = watermark_->currentMs();
  entry_.timestampMs = definition_.clock->nowMillis();
  entry_.configuration = definition_.loggedConfiguration;
  statusChanged_("Writing offsets to log");
  timed(progress, "walCommit", [&] { checkpoint_.writeOffsets(batchId_, entry_); });
}

void MicroBatchExecution::runAndCommit(bool hasNewData, QueryProgress* progress) {
  statusChanged_(hasNewData ? "Processing new data" : "No new data but cleaning up state");
  Execution execution;
  execution.batch = BatchContext{entry_.timestampMs * 1000, batchId_, TimeZone::parse(definition_.timeZone), batchId_};
  execution.cancellation = cancellation_;
  execution.pool = definition_.pool;
  timed(progress, "getBatch", [&] {
    for (size_t i = 0; i < sources_.size(); ++i) {
      auto start = committed_[i];
      if (!start) start = sources_[i]->initialOffset();
      execution.streamSplits.push_back(entry_.offsets[i] ? sources_[i]->plan(start, *entry_.offsets[i]) : std::vector<SplitPtr>{});
      execution.streamRows.emplace_back(0);
    }
  });
  for (size_t i = 0; i < watermarkDelaysMs_.size(); ++i) execution.eventTimes.emplace_back();
  timed(progress, "queryPlanning", [&] {
    staticTables_.bind(&execution);
    state_->prepare(batchId_);
  });
  timed(progress, "addBatch", [&] {
    auto write = definition_.sink->beginBatch(sinkBatch());
    if (!write) {
      logInfo("query {}: batch {} is in the sink already", checkpoint_.queryId(), batchId_);
      return;
    }
    state_->bind(batchId_, {previousWatermarkMs_, entry_.watermarkMs}, &execution);
    writeRows(*physical_, execution, *write, [&] { state_->commit(); });
    progress->numOutputRows = write->numOutputRows();
    for (const auto& observe : execution.observations) {
      const ObservedMetrics observed = observe();
      progress->observedMetrics.try_emplace(observed.name, observedJson(observed, execution.batch.timeZone));
    }
  });
  for (size_t i = 0; i < sources_.size(); ++i) progress->sources[i].numInputRows = execution.streamRows[i];
  noteEventTimes(execution, progress);
  timed(progress, "commitOffsets", [&] {
    checkpoint_.writeCommit(batchId_, {watermark_->currentMs()});
    for (size_t i = 0; i < sources_.size(); ++i) {
      if (entry_.offsets[i]) sources_[i]->commit(*entry_.offsets[i]);
    }
    purge();
  });
  progress->stateOperators = state_->progress();
  state_->maintain();
}

// The batch's own watermark is the one before it; what it saw counts from the next batch on.
void MicroBatchExecution::noteEventTimes(const Execution& execution, QueryProgress* progress) {
  if (!watermark_->hasWatermarks()) return;
  std::vector<EventTimes> seen;
  for (const SharedEventTimes& times : execution.eventTimes) seen.push_back(times.get());
  watermark_->update(seen);
  progress->eventTime["watermark"] = isoMillis(entry_.watermarkMs);
  const auto first = std::find_if(seen.begin(), seen.end(), [](const EventTimes& times) { return times.count > 0; });
  if (first == seen.end()) return;
  progress->eventTime["min"] = isoMillis(first->min);
  progress->eventTime["max"] = isoMillis(first->max);
  progress->eventTime["avg"] = isoMillis(first->average());
}

void MicroBatchExecution::purge() {
  // Listing the logs costs more than it frees: every tenth batch is often enough.
  constexpr int64_t kEvery = 10;
  if (batchId_ % kEvery != 0 || batchId_ < definition_.minBatchesToRetain) return;
  const int64_t keepFrom = std::min(batchId_ - definition_.minBatchesToRetain + 1, batchId_ - 1);
  checkpoint_.commits().purgeBelow(keepFrom);
  checkpoint_.offsets().purgeBelow(keepFrom);
}

BatchOutcome MicroBatchExecution::runNext(bool ignoreLimits, QueryProgress* progress) {
  const auto started = definition_.clock->monotonic();
  progress->id = checkpoint_.queryId();
  progress->runId = runId_;
  progress->name = definition_.name;
  progress->timestampMs = definition_.clock->nowMillis();
  progress->batchId = batchId_;
  progress->sinkDescription = definition_.sink->description();
  progress->sources.resize(sources_.size());

  const bool hasData = replaying_ || planRange(ignoreLimits, progress);
  const bool runs = hasData || wantsCleanup();
  for (size_t i = 0; i < sources_.size(); ++i) {
    SourceProgress& source = progress->sources[i];
    source.description = sources_[i]->description();
    source.startOffset = committed_[i];
    source.endOffset = entry_.offsets[i];
    source.latestOffset = sources_[i]->reportLatestOffset();
  }
  if (runs) {
    if (!replaying_) {
      // With its offsets written a batch is one that the sink may have; what must not pass for it is refused before. Where another
      // run on this checkpoint has planned it meanwhile, the log says so.
      if (!checkpoint_.offsets().has(batchId_)) definition_.sink->checkUnwritten(sinkBatch());
      writeOffsets(progress);
    }
    runAndCommit(hasData, progress);
    for (size_t i = 0; i < sources_.size(); ++i) {
      if (entry_.offsets[i]) progress->sources[i].metrics = sources_[i]->metrics(*entry_.offsets[i]);
    }
    committed_ = entry_.offsets;
    replaying_ = false;
    previousWatermarkMs_ = entry_.watermarkMs;
    ranUnderWatermarkMs_ = entry_.watermarkMs;
    ++batchId_;
  }
  const auto elapsed = std::chrono::duration_cast<std::chrono::microseconds>(definition_.clock->monotonic() - started).count();
  progress->processingSeconds = static_cast<double>(std::max<int64_t>(elapsed, 1)) / 1e6;
  progress->batchDurationMs = elapsed / 1000;
  progress->durationMs["triggerExecution"] = elapsed / 1000;
  return runs ? BatchOutcome::Ran : BatchOutcome::NoData;
}

std::string MicroBatchExecution::explain(bool extended) const {
  std::string text;
  if (extended) text += "== Analyzed Logical Plan ==\n" + treeString(*plan_) + "\n== Optimized Logical Plan ==\n" + treeString(*optimize(plan_)) + "\n";
  return text + "== Physical Plan ==\n" + physicalTreeString(*physical_);
}

}  // namespace thalweg
