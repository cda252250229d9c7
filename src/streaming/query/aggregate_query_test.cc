// Windowed counts over a stream, in the three output modes: what comes out when, over restarts, crashes and
// numbers of state partitions. Expected rows follow from Spark's rules for watermarks and late rows.
#include <arrow/api.h>
#include <arrow/compute/initialize.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/fault_points.h"
#include "expr/time_window.h"
#include "functions/registry.h"
#include "plan/analyze/relations.h"
#include "plan/logical/event_time.h"
#include "streaming/query/streaming_query.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

constexpr int64_t kSecond = 1'000'000;

struct Event {
  int64_t second;
  std::string key;
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

const SchemaPtr& eventSchema() {
  static const SchemaPtr schema = DataType::structOf({{"ts", timestampType()}, {"key", stringType()}});
  return schema;
}

class EventSplit final : public Split {
 public:
  explicit EventSplit(std::vector<Event> events) : events_(std::move(events)) {}
  std::unique_ptr<BatchReader> open(const ReadRequest& request) const override {
    arrow::TimestampBuilder times(toArrowType(*timestampType()), arrow::default_memory_pool());
    arrow::StringBuilder keys;
    for (const Event& event : events_) {
      throwIfFailed(times.Append(event.second * kSecond));
      throwIfFailed(keys.Append(event.key));
    }
    const auto batch =
        arrow::RecordBatch::Make(toArrowSchema(*eventSchema()), static_cast<int64_t>(events_.size()),
                                 {valueOrThrow(times.Finish()), valueOrThrow(keys.Finish())});
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

// Rows as "<window's start>|<key>|<count>".
std::string rowText(const arrow::RecordBatch& batch, int64_t row) {
  std::string text;
  for (const auto& column : batch.columns()) {
    const auto scalar = valueOrThrow(column->GetScalar(row));
    std::string value = "NULL";
    if (column->type_id() == arrow::Type::STRUCT) {
      const auto& window = static_cast<const arrow::StructArray&>(*column);
      value =
          std::to_string(static_cast<const arrow::TimestampArray&>(*window.field(0)).Value(row) / kSecond);
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
  bool restarts;  // after every step
};

class AggregateQueryTest : public ::testing::TestWithParam<Setup> {
 protected:
  static void SetUpTestSuite() { ASSERT_TRUE(arrow::compute::Initialize().ok()); }
  AggregateQueryTest() : formats_(FileSystemRegistry()) {
    FormatProvider provider;
    provider.name = "events";
    provider.openStream = [feed = feed_](const ReadDefinition&, const FileSystemRegistry&,
                                         const StreamSourceContext&) {
      return std::make_unique<EventSource>(feed);
    };
    formats_.add(std::move(provider));
  }
  ~AggregateQueryTest() override { armFaultPoint(""); }

  static ExpressionPtr call(std::string_view name, std::vector<ExpressionPtr> arguments) {
    return resolveFunction({name, std::move(arguments)}, FunctionContext());
  }
  static ExpressionPtr named(ExpressionPtr expression, const std::string& name) {
    return std::make_shared<Alias>(std::move(expression), name);
  }

  LogicalPtr events() {
    auto source = std::make_shared<StreamSourceDefinition>();
    source->format = "events";
    source->schema = eventSchema();
    source->visibleColumns = 2;
    const LogicalPtr scan =
        std::make_shared<LogicalStreamScan>(source, std::vector<int>{0, 1}, attributesOf(*eventSchema()));
    return std::make_shared<LogicalEventTimeWatermark>(scan->output()[0], 10'000, scan);
  }

  // Counts of ten seconds by key, under a watermark ten seconds behind.
  LogicalPtr windowedCounts(std::string_view function = "count",
                            TimeWindowSpec windows = {10 * kSecond, 10 * kSecond, 0}) {
    LogicalPtr child = events();
    std::vector<ExpressionPtr> grouping = {std::make_shared<TimeWindow>(child->output()[0], windows),
                                           child->output()[1]};
    child = placeTimeWindows(&grouping, child);
    return makeAggregate(grouping, {grouping[0], grouping[1], named(call(function, {Literal::of(1)}), "n")},
                         child);
  }

  LogicalPtr countOfAll() {
    const LogicalPtr child = events();
    return makeAggregate(
        {}, {named(call("count", {Literal::of(1)}), "n"), named(call("max", {child->output()[1]}), "m")},
        child);
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
  int64_t sumOf(const char* metric) const {
    int64_t sum = 0;
    for (const std::string& report : last_->recentProgress()) {
      sum += nlohmann::json::parse(report)["stateOperators"][0][metric].get<int64_t>();
    }
    return sum;
  }
  nlohmann::json lastState() const {
    return nlohmann::json::parse(*last_->lastProgress())["stateOperators"][0];
  }

  std::shared_ptr<StreamingQuery> last_;
  std::shared_ptr<Feed> feed_ = std::make_shared<Feed>();
  std::shared_ptr<Store> store_ = std::make_shared<Store>();
  Location checkpoint_{makeMemoryFileSystem(), "/checkpoint"};
  FormatRegistry formats_;
  TaskPool pool_{2};
};

// The third step brings a row for [0, 10), which the watermark of 15 had passed before its batch: it is late.
// The row for [10, 20) is not. Groups end in the batch without data that follows the one that moved the
// watermark.
const Steps kSteps = {{{5, "a"}, {5, "a"}, {12, "b"}}, {{25, "a"}}, {{3, "a"}, {14, "b"}}, {{40, "c"}}};

TEST_P(AggregateQueryTest, AppendGivesAGroupOnceWhenTheWatermarkPassesIt) {
  EXPECT_EQ(rowsOfSteps(windowedCounts(), OutputMode::Append, kSteps),
            (std::vector<Rows>{{}, {"0|a|2"}, {}, {"10|b|2", "20|a|1"}}));
  EXPECT_EQ(lastState()["numRowsTotal"], 1);
  EXPECT_EQ(lastState()["operatorName"], "stateStoreSave");
  EXPECT_EQ(lastState()["numShufflePartitions"], GetParam().partitions);
  if (!GetParam().restarts) {
    EXPECT_EQ(sumOf("numRowsDroppedByWatermark"), 1);
    EXPECT_EQ(sumOf("numRowsUpdated"), 5);
    EXPECT_EQ(sumOf("numRowsRemoved"), 3);
  }
}

TEST_P(AggregateQueryTest, UpdateGivesTheGroupsThatChanged) {
  EXPECT_EQ(rowsOfSteps(windowedCounts(), OutputMode::Update, kSteps),
            (std::vector<Rows>{{"0|a|2", "10|b|1"}, {"20|a|1"}, {"10|b|2"}, {"40|c|1"}}));
  EXPECT_EQ(lastState()["numRowsTotal"], 1);
}

TEST_P(AggregateQueryTest, CompleteGivesAllGroupsAndKnowsNoLateRows) {
  EXPECT_EQ(rowsOfSteps(windowedCounts(), OutputMode::Complete, kSteps),
            (std::vector<Rows>{{"0|a|2", "10|b|1"},
                               {"0|a|2", "10|b|1", "20|a|1"},
                               {"0|a|3", "10|b|2", "20|a|1"},
                               {"0|a|3", "10|b|2", "20|a|1", "40|c|1"}}));
  EXPECT_EQ(lastState()["numRowsTotal"], 4);
}

// Windows of ten seconds that start every four, at 1, 5, 9 …: 5 is in those from −3, 1 and 5 on, 7 in those from 1 and 5,
// 12 in those from 5 and 9. Functions that need the rows in their order (first) give the same windows.
TEST_P(AggregateQueryTest, AnEventIsInEachWindowThatHoldsIt) {
  const TimeWindowSpec windows{10 * kSecond, 4 * kSecond, 1 * kSecond};
  const Steps steps = {{{5, "a"}}, {{12, "a"}, {7, "a"}}};
  EXPECT_EQ(rowsOfSteps(windowedCounts("count", windows), OutputMode::Complete, steps),
            (std::vector<Rows>{{"-3|a|1", "1|a|1", "5|a|1"}, {"-3|a|1", "1|a|2", "5|a|3", "9|a|1"}}));
  EXPECT_EQ(lastState()["numRowsTotal"], 4);
}

TEST_P(AggregateQueryTest, FunctionsThatNeedOrderSeeTheSameWindows) {
  const TimeWindowSpec windows{10 * kSecond, 4 * kSecond, 1 * kSecond};
  EXPECT_EQ(rowsOfSteps(windowedCounts("first", windows), OutputMode::Complete, {{{5, "a"}, {12, "a"}}}),
            (std::vector<Rows>{{"-3|a|1", "1|a|1", "5|a|1", "9|a|1"}}));
}

// A window goes when its own end is passed, whichever panes it shares with those that stay.
TEST_P(AggregateQueryTest, OverlappingWindowsEndOneByOne) {
  const TimeWindowSpec windows{10 * kSecond, 5 * kSecond, 0};
  EXPECT_EQ(rowsOfSteps(windowedCounts("count", windows), OutputMode::Append, {{{3, "a"}, {7, "a"}}, {{21, "b"}}, {{27, "b"}}}),
            (std::vector<Rows>{{}, {"-5|a|1", "0|a|2"}, {"5|a|1"}}));
}

TEST_P(AggregateQueryTest, AnAggregateWithoutGroupsHasOneRow) {
  EXPECT_EQ(rowsOfSteps(countOfAll(), OutputMode::Complete, {{{5, "a"}}, {{6, "c"}, {7, "b"}}}),
            (std::vector<Rows>{{"1|a"}, {"3|c"}}));
  EXPECT_EQ(lastState()["numStateStoreInstances"], 1);
}

// Whatever step of a batch fails: the batch runs again over the state that it began with.
TEST_P(AggregateQueryTest, EveryStepOfABatchMayFail) {
  int64_t second = 0;
  int count = 0;
  for (const char* point : {"offsetLog.after", "stateChanges.before", "stateChanges.after",
                            "commitLog.before", "commitLog.after"}) {
    SCOPED_TRACE(point);
    feed_->add({{second, "a"}, {second, "a"}});
    armFaultPoint(std::string(point) + "=error");
    EXPECT_THROW(runAvailableNow(windowedCounts(), OutputMode::Append), Error);
    armFaultPoint("");
    runAvailableNow(windowedCounts(), OutputMode::Append);
    second += 100;
    ++count;
  }
  feed_->add({{second, "z"}});
  runAvailableNow(windowedCounts(), OutputMode::Append);
  Rows expected;
  for (int i = 0; i < count; ++i) expected.push_back(std::to_string(i * 100) + "|a|2");
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(store_->take(), expected);
}

// More versions than a snapshot waits for, and more than are kept.
TEST_P(AggregateQueryTest, ALongRunLeavesSnapshotsAndNoOldFiles) {
  for (int i = 0; i < 40; ++i) {
    feed_->add({{i, "k" + std::to_string(i % 7)}});
    auto query = definition(windowedCounts(), OutputMode::Complete, {Trigger::Kind::AvailableNow, 0});
    query.minBatchesToRetain = 5;
    StreamingQuery::start(std::move(query))->awaitTermination(std::nullopt);
  }
  int64_t total = 0;
  for (const std::string& row : store_->take()) total += std::stoll(row.substr(row.rfind('|') + 1));
  EXPECT_EQ(total, 40);
  const auto files = checkpoint_.fileSystem->list("/checkpoint/state/0/0");
  EXPECT_LT(files.size(), 30u);
}

TEST_P(AggregateQueryTest, AChangedQueryIsRefusedByName) {
  feed_->add({{1, "a"}});
  runAvailableNow(windowedCounts(), OutputMode::Update);
  feed_->add({{2, "a"}});
  try {
    runAvailableNow(countOfAll(), OutputMode::Update);
    FAIL() << "another query took over the state";
  } catch (const Error& error) {
    EXPECT_EQ(error.cause()->condition(), "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE");
  }
  try {
    runAvailableNow(windowedCounts("first"), OutputMode::Update);
    FAIL() << "another function went on with the state";
  } catch (const Error& error) {
    EXPECT_EQ(error.cause()->condition(), "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE");
  }
  try {
    runAvailableNow(events(), OutputMode::Append);
    FAIL() << "a query without state took over";
  } catch (const Error& error) {
    EXPECT_EQ(error.cause()->condition(), "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA");
  }
  checkpoint_.fileSystem->removeTree("/checkpoint/state");
  try {
    runAvailableNow(windowedCounts(), OutputMode::Update);
    FAIL() << "lost state was taken for none";
  } catch (const Error& error) {
    EXPECT_EQ(error.cause()->condition(), "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY");
  }
}

INSTANTIATE_TEST_SUITE_P(Setups, AggregateQueryTest,
                         ::testing::Values(Setup{1, false, false}, Setup{4, false, false},
                                           Setup{4, false, true}, Setup{1, false, true},
                                           Setup{4, true, false}, Setup{4, true, true}),
                         [](const auto& info) {
                           return std::string(info.param.rocksDb ? "RocksDb" : "Hdfs") +
                                  std::to_string(info.param.partitions) +
                                  (info.param.restarts ? "Restarts" : "RunsOn");
                         });

}  // namespace
}  // namespace thalweg
