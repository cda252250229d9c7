// Queries over a stream of events that a test hands out step by step, their rows kept as text: what tests of
// stateful queries are made of.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <arrow/api.h>
#include <arrow/compute/initialize.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/fault_points.h"
#include "functions/registry.h"
#include "plan/logical/event_time.h"
#include "streaming/query/streaming_query.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg::query_test {

constexpr int64_t kSecond = 1'000'000;

struct Event {
  std::optional<int64_t> second;
  std::string key;
  int64_t value = 0;
};
using Steps = std::vector<std::vector<Event>>;

// The events so far, by step; an offset is the number of steps before it.
struct Feed {
  std::mutex mutex;
  Steps steps;

  void add(std::vector<Event> step) {
    std::lock_guard lock(mutex);
    steps.push_back(std::move(step));
  }
};

inline const SchemaPtr& eventSchema() {
  static const SchemaPtr schema = DataType::structOf({{"ts", timestampType()}, {"key", stringType()}, {"v", longType()}});
  return schema;
}

class EventSplit final : public Split {
 public:
  explicit EventSplit(std::vector<Event> events) : events_(std::move(events)) {}
  std::unique_ptr<BatchReader> open(const ReadRequest& request) const override {
    arrow::TimestampBuilder times(toArrowType(*timestampType()), arrow::default_memory_pool());
    arrow::StringBuilder keys;
    arrow::Int64Builder values;
    for (const Event& event : events_) {
      throwIfFailed(event.second ? times.Append(*event.second * kSecond) : times.AppendNull());
      throwIfFailed(keys.Append(event.key));
      throwIfFailed(values.Append(event.value));
    }
    arrow::ArrayVector columns = {valueOrThrow(times.Finish()), valueOrThrow(keys.Finish()),
                                  valueOrThrow(values.Finish())};
    const auto batch = arrow::RecordBatch::Make(toArrowSchema(*eventSchema()),
                                                static_cast<int64_t>(events_.size()), std::move(columns));
    return std::make_unique<Reader>(valueOrThrow(batch->SelectColumns(request.columns)));
  }

 private:
  struct Reader final : BatchReader {
    explicit Reader(std::shared_ptr<arrow::RecordBatch> b) : batch(std::move(b)) {}
    std::shared_ptr<arrow::RecordBatch> next() override { return std::exchange(batch, nullptr); }
    std::shared_ptr<arrow::RecordBatch> batch;
  };
  std::vector<Event> events_;
};

class EventSource final : public StreamSource {
 public:
  explicit EventSource(std::shared_ptr<Feed> feed) : feed_(std::move(feed)) {}
  const SchemaPtr& schema() const override { return eventSchema(); }
  std::string description() const override { return "Events"; }
  std::optional<SourceOffset> initialOffset() override { return "0"; }
  std::optional<SourceOffset> latestOffset(const std::optional<SourceOffset>&, bool) override {
    std::lock_guard lock(feed_->mutex);
    return std::to_string(feed_->steps.size());
  }
  bool prepareForAvailableNow() override { return true; }
  // An event a split: equal keys meet only in the second stage.
  std::vector<SplitPtr> plan(const std::optional<SourceOffset>& start, const SourceOffset& end) override {
    std::lock_guard lock(feed_->mutex);
    std::vector<SplitPtr> splits;
    for (size_t step = std::stoul(*start); step < std::stoul(end); ++step) {
      for (const Event& event : feed_->steps[step])
        splits.push_back(std::make_shared<EventSplit>(std::vector{event}));
    }
    return splits;
  }

 private:
  std::shared_ptr<Feed> feed_;
};

using Rows = std::vector<std::string>;

// The rows of each batch, once a batch; complete mode replaces.
struct Store {
  std::mutex mutex;
  std::map<int64_t, Rows> batches;
  OutputMode mode = OutputMode::Append;

  // Rows that came since the last call, sorted; in complete mode those of the last batch.
  Rows take() {
    std::lock_guard lock(mutex);
    Rows rows;
    for (const auto& [id, batch] : batches) {
      if (id <= taken) continue;
      taken = id;
      if (mode == OutputMode::Complete) rows.clear();
      rows.insert(rows.end(), batch.begin(), batch.end());
    }
    std::sort(rows.begin(), rows.end());
    return rows;
  }
  int64_t taken = -1;
};

// A row's values, of windows and times their (start's) second.
inline std::string rowText(const arrow::RecordBatch& batch, int64_t row) {
  std::string text;
  for (const auto& column : batch.columns()) {
    const auto scalar = valueOrThrow(column->GetScalar(row));
    std::string value = "NULL";
    if (column->type_id() == arrow::Type::STRUCT) {
      const auto& window = static_cast<const arrow::StructArray&>(*column);
      value =
          std::to_string(static_cast<const arrow::TimestampArray&>(*window.field(0)).Value(row) / kSecond);
    } else if (column->type_id() == arrow::Type::TIMESTAMP && scalar->is_valid) {
      value = std::to_string(static_cast<const arrow::TimestampArray&>(*column).Value(row) / kSecond);
    } else if (scalar->is_valid) {
      value = scalar->ToString();
    }
    text += (text.empty() ? "" : "|") + value;
  }
  return text;
}

class StoreSink final : public StreamSink {
 public:
  explicit StoreSink(std::shared_ptr<Store> store) : store_(std::move(store)) {}
  std::string description() const override { return "Store"; }
  void validate(OutputMode, const Schema&) override {}
  std::unique_ptr<BatchWrite> beginBatch(const StreamBatch& batch) override {
    std::lock_guard lock(store_->mutex);
    if (store_->batches.contains(batch.batchId)) return nullptr;
    return std::make_unique<Write>(store_, batch.batchId);
  }

 private:
  class Write final : public BatchWrite {
   public:
    Write(std::shared_ptr<Store> store, int64_t batchId) : store_(std::move(store)), batchId_(batchId) {}
    std::unique_ptr<TaskWriter> openTask(int) override { return std::make_unique<Task>(*this); }
    void commit() override {
      std::lock_guard lock(store_->mutex);
      store_->batches[batchId_] = rows_;
    }
    void abort() noexcept override {}

   private:
    struct Task final : TaskWriter {
      explicit Task(Write& w) : write_(w) {}
      void write(const std::shared_ptr<arrow::RecordBatch>& batch) override {
        for (int64_t row = 0; row < batch->num_rows(); ++row) rows_.push_back(rowText(*batch, row));
      }
      void close() override {
        std::lock_guard lock(write_.mutex_);
        write_.rows_.insert(write_.rows_.end(), rows_.begin(), rows_.end());
      }
      Write& write_;
      Rows rows_;
    };
    std::shared_ptr<Store> store_;
    int64_t batchId_;
    std::mutex mutex_;
    Rows rows_;
  };
  std::shared_ptr<Store> store_;
};

struct Setup {
  int partitions;
  bool rocksDb;
  bool restarts;      // after every step
  bool cold = false;  // state has next to no room in memory between batches
};

class StatefulQueryTest : public ::testing::TestWithParam<Setup> {
 protected:
  static void SetUpTestSuite() { ASSERT_TRUE(arrow::compute::Initialize().ok()); }
  StatefulQueryTest() : formats_(FileSystemRegistry()) {
    FormatProvider provider;
    provider.name = "events";
    provider.openStream = [feed = feed_](const ReadDefinition&, const FileSystemRegistry&,
                                         const StreamSourceContext&) {
      return std::make_unique<EventSource>(feed);
    };
    formats_.add(std::move(provider));
  }
  ~StatefulQueryTest() override { armFaultPoint(""); }

  static ExpressionPtr call(std::string_view name, std::vector<ExpressionPtr> arguments) {
    return resolveFunction({name, std::move(arguments)}, FunctionContext());
  }
  static ExpressionPtr named(ExpressionPtr expression, const std::string& name) {
    return std::make_shared<Alias>(std::move(expression), name);
  }

  LogicalPtr rawEvents() {
    auto source = std::make_shared<StreamSourceDefinition>();
    source->format = "events";
    source->schema = eventSchema();
    source->visibleColumns = 3;
    return std::make_shared<LogicalStreamScan>(source, std::vector<int>{0, 1, 2},
                                               attributesOf(*eventSchema()));
  }
  // Under a watermark ten seconds behind.
  LogicalPtr events() {
    const LogicalPtr scan = rawEvents();
    return std::make_shared<LogicalEventTimeWatermark>(scan->output()[0], 10'000, scan);
  }

  StreamingQueryDefinition definition(const LogicalPtr& plan, OutputMode mode, Trigger trigger) {
    StreamingQueryDefinition query;
    query.name = "q";
    query.plan = plan;
    store_->mode = mode;
    query.sink = std::make_unique<StoreSink>(store_);
    query.mode = mode;
    query.trigger = trigger;
    query.checkpoint = checkpoint_;
    query.loggedConfiguration = loggedConfigurationDefaults();
    query.loggedConfiguration["spark.sql.shuffle.partitions"] = std::to_string(GetParam().partitions);
    if (GetParam().rocksDb) {
      query.loggedConfiguration["spark.sql.streaming.stateStore.providerClass"] =
          "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider";
    }
    if (GetParam().cold) query.stateMemoryBytes = room_;
    query.formats = &formats_;
    query.pool = &pool_;
    return query;
  }

  std::shared_ptr<StreamingQuery> runAvailableNow(const LogicalPtr& plan, OutputMode mode) {
    auto query = StreamingQuery::start(definition(plan, mode, {Trigger::Kind::AvailableNow, 0}));
    query->awaitTermination(std::nullopt);
    return query;
  }

  // What each step brings, the query started anew for each or running on.
  std::vector<Rows> rowsOfSteps(const LogicalPtr& plan, OutputMode mode, const Steps& steps) {
    std::vector<Rows> rows;
    std::shared_ptr<StreamingQuery> running;
    if (!GetParam().restarts) running = StreamingQuery::start(definition(plan, mode, {}));
    for (const auto& step : steps) {
      feed_->add(step);
      if (running)
        running->processAllAvailable(CancellationToken());
      else
        last_ = runAvailableNow(plan, mode);
      rows.push_back(store_->take());
    }
    if (running) {
      running->stop();
      last_ = running;
    }
    return rows;
  }

  // Of one operator, summed over the progress reports of the last run.
  // Of the first operator's metrics, or of those inside them: "customMetrics/numDroppedDuplicateRows".
  int64_t sumOf(const std::string& metric) const {
    int64_t sum = 0;
    for (const std::string& report : last_->recentProgress()) {
      const auto state = nlohmann::json::parse(report)["stateOperators"][0];
      sum += state.at(nlohmann::json::json_pointer("/" + metric)).get<int64_t>();
    }
    return sum;
  }
  nlohmann::json lastState() const {
    return nlohmann::json::parse(*last_->lastProgress())["stateOperators"][0];
  }

  int64_t room_ = 0;  // of cold setups
  std::shared_ptr<StreamingQuery> last_;
  std::shared_ptr<Feed> feed_ = std::make_shared<Feed>();
  std::shared_ptr<Store> store_ = std::make_shared<Store>();
  Location checkpoint_{makeMemoryFileSystem(), "/checkpoint"};
  FormatRegistry formats_;
  TaskPool pool_{2};
};

// State partitions, both providers, and a query that runs on or is started for every step.
inline auto allSetups() {
  return ::testing::Values(Setup{1, false, false}, Setup{4, false, false}, Setup{4, false, true},
                           Setup{1, false, true}, Setup{4, true, false}, Setup{4, true, true},
                           Setup{4, true, false, true}, Setup{4, false, true, true}, Setup{1, false, false, true});
}
inline std::string setupName(const ::testing::TestParamInfo<Setup>& info) {
  return std::string(info.param.rocksDb ? "RocksDb" : "Hdfs") + std::to_string(info.param.partitions) +
         (info.param.restarts ? "Restarts" : "RunsOn") + (info.param.cold ? "Cold" : "");
}

}  // namespace thalweg::query_test
