// A query from start to stop over a source of numbers and a sink that remembers: triggers, replay, failure, progress.
#include "streaming/query/streaming_query.h"

#include <atomic>

#include <arrow/api.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/fault_points.h"
#include "functions/registry.h"
#include "plan/logical/join.h"
#include "streaming/query/progress.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const SchemaPtr& numbers() {
  static const SchemaPtr schema = DataType::structOf({{"value", longType(), false}});
  return schema;
}

// Rows 0 … available − 1; an offset is the number of rows before it.
struct NumberFeed {
  std::atomic<int64_t> available{0};
  int64_t rowsPerBatch = 1000;
};

class NumberSplit final : public Split {
 public:
  NumberSplit(int64_t first, int64_t last) : first_(first), last_(last) {}
  std::unique_ptr<BatchReader> open(const ReadRequest&) const override { return std::make_unique<Reader>(first_, last_); }

 private:
  class Reader final : public BatchReader {
   public:
    Reader(int64_t first, int64_t last) : next_(first), last_(last) {}
    std::shared_ptr<arrow::RecordBatch> next() override {
      if (next_ == last_) return nullptr;
      arrow::Int64Builder builder;
      for (; next_ < last_; ++next_) EXPECT_TRUE(builder.Append(next_).ok());
      const auto column = builder.Finish().ValueOrDie();
      return arrow::RecordBatch::Make(toArrowSchema(*numbers()), column->length(), {column});
    }

   private:
    int64_t next_, last_;
  };
  int64_t first_, last_;
};

class NumberSource final : public StreamSource {
 public:
  explicit NumberSource(std::shared_ptr<NumberFeed> feed) : feed_(std::move(feed)) {}
  const SchemaPtr& schema() const override { return numbers(); }
  void checkLoggedOffset(const SourceOffset& offset) const override {
    if (offset.starts_with('-')) throw Error("INVALID_OPTION", "There is no row " + offset + ".");
  }
  std::string description() const override { return "Numbers"; }
  std::optional<SourceOffset> initialOffset() override { return "0"; }
  std::optional<SourceOffset> latestOffset(const std::optional<SourceOffset>& start, bool ignoreLimits) override {
    const int64_t all = frozen_.value_or(feed_->available.load());
    const int64_t limit = ignoreLimits ? all : std::stoll(*start) + feed_->rowsPerBatch;
    return std::to_string(std::min(all, limit));
  }
  bool prepareForAvailableNow() override {
    frozen_ = feed_->available.load();
    return true;
  }
  std::vector<SplitPtr> plan(const std::optional<SourceOffset>& start, const SourceOffset& end) override {
    return {std::make_shared<NumberSplit>(std::stoll(*start), std::stoll(end))};
  }

 private:
  std::shared_ptr<NumberFeed> feed_;
  std::optional<int64_t> frozen_;
};

// What a sink that commits idempotently by batch id holds.
struct Store {
  std::mutex mutex;
  std::map<int64_t, std::vector<int64_t>> batches;
  std::atomic<int> failuresLeft{0};

  std::vector<int64_t> rows() {
    std::lock_guard lock(mutex);
    std::vector<int64_t> all;
    for (const auto& [id, batch] : batches) all.insert(all.end(), batch.begin(), batch.end());
    return all;
  }
};

class StoreSink final : public StreamSink {
 public:
  explicit StoreSink(std::shared_ptr<Store> store) : store_(std::move(store)) {}
  std::string description() const override { return "Store"; }
  void validate(OutputMode, const Schema&) override {}
  void checkUnwritten(const StreamBatch& batch) override {
    EXPECT_FALSE(batch.replayed);
    std::lock_guard lock(store_->mutex);
    if (store_->batches.contains(batch.batchId)) throw Error("STREAMING_CHECKPOINT_BEHIND_SINK", "It is there.");
  }
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
      if (store_->failuresLeft.fetch_sub(1) > 0) throw Error("STORAGE_FAILURE", "The disk is full.");
      std::lock_guard lock(store_->mutex);
      store_->batches[batchId_] = rows_;
    }
    void abort() noexcept override {}

   private:
    class Task final : public TaskWriter {
     public:
      explicit Task(Write& write) : write_(write) {}
      void write(const std::shared_ptr<arrow::RecordBatch>& batch) override {
        const auto& values = static_cast<const arrow::Int64Array&>(*batch->column(0));
        for (int64_t i = 0; i < values.length(); ++i) rows_.push_back(values.Value(i));
      }
      void close() override { write_.rows_.insert(write_.rows_.end(), rows_.begin(), rows_.end()); }

     private:
      Write& write_;
      std::vector<int64_t> rows_;
    };
    std::shared_ptr<Store> store_;
    int64_t batchId_;
    std::vector<int64_t> rows_;
  };
  std::shared_ptr<Store> store_;
};

class StreamingQueryTest : public ::testing::Test {
 protected:
  StreamingQueryTest() : formats_(FileSystemRegistry()) {
    FormatProvider provider;
    provider.name = "numbers";
    provider.openStream = [feed = feed_](const ReadDefinition&, const FileSystemRegistry&, const StreamSourceContext&) {
      return std::make_unique<NumberSource>(feed);
    };
    formats_.add(std::move(provider));
  }
  ~StreamingQueryTest() override { armFaultPoint(""); }

  StreamingQueryDefinition definition(Trigger trigger) {
    auto source = std::make_shared<StreamSourceDefinition>();
    source->format = "numbers";
    source->schema = numbers();
    source->visibleColumns = 1;
    StreamingQueryDefinition query;
    query.name = "q";
    query.plan = std::make_shared<LogicalStreamScan>(source, std::vector<int>{0}, attributesOf(*numbers()));
    query.sink = std::make_unique<StoreSink>(store_);
    query.trigger = trigger;
    query.checkpoint = checkpoint_;
    query.loggedConfiguration = loggedConfigurationDefaults();
    query.formats = &formats_;
    query.pool = &pool_;
    return query;
  }

  std::shared_ptr<StreamingQuery> start(Trigger trigger) { return StreamingQuery::start(definition(trigger)); }
  void runAvailableNow() { start({Trigger::Kind::AvailableNow, 0})->awaitTermination(std::nullopt); }

  static std::vector<int64_t> upTo(int64_t count) {
    std::vector<int64_t> rows(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) rows[static_cast<size_t>(i)] = i;
    return rows;
  }

  std::shared_ptr<NumberFeed> feed_ = std::make_shared<NumberFeed>();
  std::shared_ptr<Store> store_ = std::make_shared<Store>();
  Location checkpoint_{makeMemoryFileSystem(), "/checkpoint"};
  FormatRegistry formats_;
  TaskPool pool_{2};
};

TEST_F(StreamingQueryTest, AvailableNowRunsAsManyBatchesAsTheLimitAsksAndStops) {
  feed_->available = 25;
  feed_->rowsPerBatch = 10;
  runAvailableNow();
  EXPECT_EQ(store_->rows(), upTo(25));
  EXPECT_EQ(store_->batches.size(), 3u);
}

TEST_F(StreamingQueryTest, OnceTakesAllThereIsInOneBatch) {
  feed_->available = 25;
  feed_->rowsPerBatch = 10;
  start({Trigger::Kind::Once, 0})->awaitTermination(std::nullopt);
  EXPECT_EQ(store_->batches.size(), 1u);
  EXPECT_EQ(store_->rows(), upTo(25));
}

TEST_F(StreamingQueryTest, ARestartGoesOnWhereTheLastRunEnded) {
  feed_->available = 10;
  runAvailableNow();
  feed_->available = 30;
  runAvailableNow();
  EXPECT_EQ(store_->rows(), upTo(30));
  EXPECT_EQ(store_->batches.at(1), (std::vector<int64_t>{10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29}));
}

// Whatever step of a batch fails, a restart repeats exactly its range, and nothing is twice in the sink.
TEST_F(StreamingQueryTest, EveryStepOfABatchMayFail) {
  for (const char* point : {"offsetLog.before", "offsetLog.temp", "offsetLog.after", "commitLog.before", "commitLog.temp", "commitLog.after"}) {
    SCOPED_TRACE(point);
    const int64_t before = feed_->available;
    feed_->available = before + 10;
    armFaultPoint(std::string(point) + "=error");
    EXPECT_THROW(runAvailableNow(), Error);
    // More arrives while the query is down: a batch that was planned keeps its end.
    feed_->available = before + 20;
    runAvailableNow();
    EXPECT_EQ(store_->rows(), upTo(before + 20));
  }
}

// Another checkpoint wrote them. A batch whose offsets are written would pass for one that this checkpoint wrote.
TEST_F(StreamingQueryTest, BatchesThatTheSinkHasAreNotPlanned) {
  feed_->available = 10;
  runAvailableNow();
  feed_->available = 20;
  checkpoint_.path = "/another";
  for (int attempt = 0; attempt < 3; ++attempt) {
    const auto query = start({Trigger::Kind::AvailableNow, 0});
    EXPECT_THROW(query->awaitTermination(std::nullopt), Error) << attempt;
    ASSERT_TRUE(query->exception() && query->exception()->cause());
    EXPECT_EQ(query->exception()->cause()->condition(), "STREAMING_CHECKPOINT_BEHIND_SINK");
    EXPECT_TRUE(checkpoint_.fileSystem->list("/another/offsets").empty());
  }
  EXPECT_EQ(store_->rows(), upTo(10));
}

TEST_F(StreamingQueryTest, AnOffsetThatNoSourceWroteIsNamedByFileAndLine) {
  feed_->available = 5;
  runAvailableNow();
  FileSystem& files = *checkpoint_.fileSystem;
  const std::string offsets = files.readAll("/checkpoint/offsets/0");
  for (const bool committed : {true, false}) {
    SCOPED_TRACE(committed);
    if (!committed) files.remove("/checkpoint/commits/0");
    files.writeAtomically("/checkpoint/offsets/0", offsets.substr(0, offsets.rfind('\n')) + "\n-7");
    const auto query = start({Trigger::Kind::AvailableNow, 0});
    EXPECT_THROW(query->awaitTermination(std::nullopt), Error);
    const Error& cause = *query->exception()->cause();
    EXPECT_EQ(cause.condition(), "STREAMING_CHECKPOINT_LOG_CORRUPT");
    EXPECT_NE(cause.text().find("Line 3 of the checkpoint file /checkpoint/offsets/0"), std::string::npos) << cause.text();
    EXPECT_NE(cause.text().find("There is no row -7."), std::string::npos) << cause.text();
  }
}

TEST_F(StreamingQueryTest, AFailureSaysWhyAndIsKept) {
  feed_->available = 5;
  store_->failuresLeft = 1;
  const auto query = start({Trigger::Kind::AvailableNow, 0});
  EXPECT_THROW(query->awaitTermination(std::nullopt), Error);
  ASSERT_TRUE(query->exception());
  EXPECT_EQ(query->exception()->condition(), "STREAM_FAILED");
  EXPECT_EQ(query->exception()->cause()->condition(), "STORAGE_FAILURE");
  EXPECT_NE(query->exception()->message().find("The disk is full."), std::string::npos);
  EXPECT_FALSE(query->isActive());
  EXPECT_EQ(query->status().message.substr(0, 26), "Terminated with exception:");
  runAvailableNow();
  EXPECT_EQ(store_->rows(), upTo(5));
}

TEST_F(StreamingQueryTest, ProcessAllAvailableWaitsForWhatIsThere) {
  const auto query = start({});
  const CancellationToken never;
  feed_->available = 100;
  query->processAllAvailable(never);
  EXPECT_EQ(store_->rows(), upTo(100));
  feed_->available = 200;
  query->processAllAvailable(never);
  EXPECT_EQ(store_->rows(), upTo(200));
  query->stop();
  EXPECT_FALSE(query->isActive());
  EXPECT_FALSE(query->exception());
  EXPECT_EQ(query->status().message, "Stopped");
}

TEST_F(StreamingQueryTest, ATimeoutEndsTheWaitAndNotTheQuery) {
  const auto query = start({});
  EXPECT_FALSE(query->awaitTermination(milliseconds(1)));
  EXPECT_TRUE(query->isActive());
  query->stop();
  EXPECT_TRUE(query->awaitTermination(seconds(1)));
}

TEST_F(StreamingQueryTest, ANewerRunOnTheCheckpointMakesTheOlderOneLose) {
  const auto older = start({Trigger::Kind::ProcessingTime, 20});
  feed_->available = 10;
  older->processAllAvailable(CancellationToken());
  const auto newer = start({Trigger::Kind::ProcessingTime, 20});
  feed_->available = 20;
  // Both see the ten new rows; one of them loses the offset log and stops.
  for (int i = 0; i < 500 && older->isActive() && newer->isActive(); ++i) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_NE(older->isActive(), newer->isActive());
  const auto& loser = older->isActive() ? newer : older;
  EXPECT_EQ(loser->exception()->cause()->condition(), "CONCURRENT_STREAM_LOG_UPDATE");
  older->stop();
  newer->stop();
  EXPECT_EQ(store_->rows(), upTo(20));
}

TEST_F(StreamingQueryTest, ProgressHasSparksFields) {
  feed_->available = 7;
  const auto query = start({Trigger::Kind::AvailableNow, 0});
  query->awaitTermination(std::nullopt);
  ASSERT_TRUE(query->lastProgress());
  const auto progress = nlohmann::json::parse(*query->lastProgress());
  EXPECT_EQ(progress["id"], query->id());
  EXPECT_EQ(progress["runId"], query->runId());
  EXPECT_EQ(progress["name"], "q");
  EXPECT_EQ(progress["batchId"], 0);
  EXPECT_EQ(progress["numInputRows"], 7);
  EXPECT_EQ(progress["inputRowsPerSecond"], 0.0);
  for (const char* step : {"triggerExecution", "latestOffset", "getBatch", "queryPlanning", "walCommit", "addBatch", "commitOffsets"}) {
    EXPECT_TRUE(progress["durationMs"].contains(step)) << step;
  }
  EXPECT_EQ(progress["sources"][0]["description"], "Numbers");
  EXPECT_EQ(progress["sources"][0]["startOffset"], nullptr);
  EXPECT_EQ(progress["sources"][0]["endOffset"], 7);
  EXPECT_EQ(progress["sources"][0]["numInputRows"], 7);
  EXPECT_EQ(progress["sink"]["description"], "Store");
}

TEST_F(StreamingQueryTest, KeepsTheLastHundredBatchesOfItsLogs) {
  feed_->rowsPerBatch = 1;
  feed_->available = 130;
  runAvailableNow();
  EXPECT_EQ(store_->rows(), upTo(130));
  const auto offsets = checkpoint_.fileSystem->list("/checkpoint/offsets");
  EXPECT_GE(offsets.size(), 100u);
  EXPECT_LE(offsets.size(), 112u);
  runAvailableNow();
}

TEST(Progress, RoundsRatesHalfUpToOneDecimal) {
  QueryProgress progress;
  progress.sources.resize(1);
  progress.sources[0].numInputRows = 40;
  progress.inputSeconds = 13.016;
  progress.processingSeconds = 13.016;
  const auto json = nlohmann::json::parse(progress.toJson());
  EXPECT_EQ(json["processedRowsPerSecond"], 3.1);
}

TEST(Progress, PrintsTimesAsSparkDoes) { EXPECT_EQ(isoMillis(1795974716398), "2026-11-29T17:51:56.398Z"); }

// One version of a table of numbers; changes make the next.
class NumberTable final : public Table {
 public:
  explicit NumberTable(std::vector<int64_t> rows) : rows_(std::move(rows)) {}
  const SchemaPtr& schema() const override { return numbers(); }
  std::vector<SplitPtr> planScan(const std::vector<ColumnPredicate>&) const override {
    std::vector<SplitPtr> splits;
    for (int64_t row : rows_) splits.push_back(std::make_shared<NumberSplit>(row, row + 1));
    return splits;
  }
  std::shared_ptr<Table> latest() const override {
    if (!next_) return nullptr;
    const std::shared_ptr<Table> newest = next_->latest();
    return newest ? newest : next_;
  }
  std::string description() const override { return "numbers"; }
  std::shared_ptr<NumberTable> change(std::vector<int64_t> rows) {
    next_ = std::make_shared<NumberTable>(std::move(rows));
    return next_;
  }

 private:
  std::vector<int64_t> rows_;
  std::shared_ptr<NumberTable> next_;
};

class JoinedQueryTest : public StreamingQueryTest {
 protected:
  // The numbers of the stream that the table has.
  void runJoined() {
    StreamingQueryDefinition query = definition({Trigger::Kind::AvailableNow, 0});
    const LogicalPtr stream = query.plan;
    const LogicalPtr scan = std::make_shared<LogicalTableScan>(table_, std::vector<int>{0}, attributesOf(*numbers()));
    const ExpressionPtr same = resolveFunction({"==", {stream->output()[0], scan->output()[0]}}, FunctionContext());
    query.plan = std::make_shared<LogicalJoin>(JoinType::LeftSemi, same, stream, scan);
    StreamingQuery::start(std::move(query))->awaitTermination(std::nullopt);
  }

  std::shared_ptr<NumberTable> table_ = std::make_shared<NumberTable>(std::vector<int64_t>{1, 2, 11, 25});
};

TEST_F(JoinedQueryTest, EachBatchSeesTheTableAsItIsWhenTheBatchBegins) {
  feed_->available = 10;
  runJoined();
  EXPECT_EQ(store_->rows(), (std::vector<int64_t>{1, 2}));
  table_->change({3, 12})->change({12, 13});
  feed_->available = 20;
  runJoined();
  EXPECT_EQ(store_->batches.at(1), (std::vector<int64_t>{12, 13}));
}

// The range of a batch is in the offset log; tables are not, so a batch that runs again sees them as they are then.
TEST_F(JoinedQueryTest, ABatchThatRunsAgainKeepsItsRangeAndSeesTheNewestTable) {
  feed_->available = 10;
  store_->failuresLeft = 1;
  EXPECT_THROW(runJoined(), Error);
  table_->change({2, 3, 12});
  feed_->available = 20;
  runJoined();
  EXPECT_EQ(store_->batches.at(0), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(store_->batches.at(1), (std::vector<int64_t>{12}));
}

}  // namespace
}  // namespace thalweg
