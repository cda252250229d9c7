// What every streaming source owes its query, whatever it reads: a checkpoint's offsets decide, not the
// options that a restart comes with, and a range gives the same rows each time.
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>

#include <arrow/api.h>
#include <arrow/compute/initialize.h>
#include <gtest/gtest.h>

#include "common/uuid.h"
#include "connector/registry.h"
#include "connector/sink.h"
#include "kafka/embedded_broker.h"
#include "kafka/producer.h"
#include "session/delta_logs.h"
#include "session/server_state.h"
#include "types/arrow_types.h"
#include "types/ddl.h"

namespace thalweg {
namespace {

namespace fs = std::filesystem;
using Rows = std::multiset<std::string>;

class SteppedClock final : public Clock {
 public:
  int64_t nowMicros() const override { return micros; }
  std::chrono::steady_clock::time_point monotonic() const override { return {}; }
  int64_t micros = 1'700'000'000'000'000;
};

// A source of one format. Each feed adds a row.
class Fed {
 public:
  Fed() : logs_(std::make_shared<DeltaLogs>(pool_)) {
    registerFormats(&formats_, logs_, pool_, std::filesystem::temp_directory_path().string());
  }
  virtual ~Fed() = default;
  virtual ReadDefinition read() = 0;
  virtual std::string format() const = 0;
  virtual void feed() = 0;

  std::unique_ptr<StreamSource> open(const Options& start) {
    ReadDefinition definition = read();
    for (const auto& [key, entry] : start.entries()) definition.options.set(entry.name, entry.value);
    StreamSourceContext context;
    context.metadataFolder = formats_.fileSystems().resolve(folder_ + "/checkpoint/sources/0");
    context.clock = &clock_;
    context.queryId = "query";
    return formats_.find(format()).openStream(definition, formats_.fileSystems(), context);
  }

 protected:
  // Goes last: the pool may still write checksums of tables into it.
  struct Folder {
    Folder() { fs::create_directories(path); }
    ~Folder() { fs::remove_all(path); }
    const std::string path = (fs::temp_directory_path() / ("thalweg-contract-" + randomUuid())).string();
  };
  const Folder temporary_;
  const std::string& folder_ = temporary_.path;
  SteppedClock clock_;
  TaskPool pool_{2};
  std::shared_ptr<DeltaLogs> logs_;
  FormatRegistry formats_{FileSystemRegistry()};
  int number_ = 0;
};

class FedRate final : public Fed {
  std::string format() const override { return "rate"; }
  ReadDefinition read() override {
    ReadDefinition definition;
    definition.options.set("rowsPerSecond", "1");
    return definition;
  }
  void feed() override { clock_.micros += 1'000'000; }
};

class FedJson final : public Fed {
  std::string format() const override { return "json"; }
  ReadDefinition read() override {
    ReadDefinition definition;
    fs::create_directories(folder_ + "/in");
    definition.paths = {folder_ + "/in"};
    definition.userSchema = parseSchemaDdl("n BIGINT");
    return definition;
  }
  void feed() override {
    const std::string number = std::to_string(++number_);
    std::ofstream(folder_ + "/in/" + number + ".json") << "{\"n\": " << number << "}\n";
  }
};

class FedKafka final : public Fed {
 public:
  FedKafka() { broker_.createTopic("rows", 2); }

 private:
  std::string format() const override { return "kafka"; }
  ReadDefinition read() override {
    ReadDefinition definition;
    definition.options.set("kafka.bootstrap.servers", broker_.bootstrapServers());
    definition.options.set("subscribe", "rows");
    return definition;
  }
  void feed() override {
    KafkaProducer producer(broker_.bootstrapServers());
    const int number = ++number_;
    producer.send(
        {.topic = "rows", .partition = number % 2, .value = std::to_string(number), .timestampMs = 1000});
    producer.flush();
  }
  EmbeddedBroker broker_;
};

class FedDelta : public Fed {
 public:
  FedDelta() { append({}); }

 private:
  std::string format() const override { return "delta"; }
  ReadDefinition read() override {
    ReadDefinition definition;
    definition.paths = {folder_ + "/t"};
    return definition;
  }
  void feed() override { append({++number_}); }
  void append(const std::vector<int64_t>& numbers) {
    const SchemaPtr schema = parseSchemaDdl("n BIGINT");
    WriteDefinition write;
    write.path = folder_ + "/t";
    if (number_ == 0) {
      write.creation.emplace();
      write.creation->operation = "CREATE TABLE";
      write.creation->properties = {{"delta.enableChangeDataFeed", "true"}};
    }
    const auto batch =
        formats_.find("delta").openBatchWrite(write, formats_.fileSystems(), SaveMode::Append, schema);
    arrow::Int64Builder builder;
    EXPECT_TRUE(builder.AppendValues(numbers).ok());
    const auto task = batch->openTask(0);
    const auto array = builder.Finish().ValueOrDie();
    task->write(arrow::RecordBatch::Make(toArrowSchema(*schema), array->length(), {array}));
    task->close();
    batch->commit();
  }
};

struct SourceCase {
  const char* name;
  std::function<std::unique_ptr<Fed>()> make;
  Options first, later;  // where to start, without and with a checkpoint
};

class SourceContractTest : public testing::TestWithParam<SourceCase> {
 protected:
  static void SetUpTestSuite() { ASSERT_TRUE(arrow::compute::Initialize().ok()); }

  static Rows rowsOf(StreamSource& source, const std::optional<SourceOffset>& start,
                     const SourceOffset& end) {
    Rows rows;
    ReadRequest request;
    for (int i = 0; i < source.visibleColumns(); ++i) request.columns.push_back(i);
    for (const SplitPtr& split : source.plan(start, end)) {
      const auto reader = split->open(request);
      while (const auto batch = reader->next()) {
        for (int64_t row = 0; row < batch->num_rows(); ++row) {
          std::string text;
          for (const auto& column : batch->columns())
            text += column->GetScalar(row).ValueOrDie()->ToString() + "|";
          rows.insert(text);
        }
      }
    }
    return rows;
  }
};

TEST_P(SourceContractTest, TheCheckpointDecidesWhatARestartReads) {
  const auto fed = GetParam().make();
  auto source = fed->open(GetParam().first);
  const auto start = source->initialOffset();
  // What is there already is a batch of its own.
  const auto there = source->latestOffset(start, false);
  const auto before = there ? there : start;
  fed->feed();
  const auto end1 = source->latestOffset(before, false);
  ASSERT_TRUE(end1);
  const Rows rows1 = rowsOf(*source, before, *end1);
  EXPECT_EQ(rows1.size(), 1u);
  source->commit(*end1);
  fed->feed();
  const auto end2 = source->latestOffset(end1, false);
  ASSERT_TRUE(end2);
  ASSERT_NE(end1, end2);
  const Rows rows2 = rowsOf(*source, end1, *end2);
  EXPECT_EQ(rows2.size(), 1u);
  EXPECT_NE(rows1, rows2);

  // Batch 2 was not committed: a restart repeats it, and finds nothing new.
  source = fed->open(GetParam().later);
  source->checkLoggedOffset(*end1);
  source->checkLoggedOffset(*end2);
  EXPECT_EQ(rowsOf(*source, end1, *end2), rows2);
  EXPECT_EQ(rowsOf(*source, end1, *end2), rows2);
  EXPECT_EQ(source->latestOffset(end2, false), end2);
  source->commit(*end2);
  fed->feed();
  const auto end3 = source->latestOffset(end2, false);
  ASSERT_TRUE(end3);
  const Rows rows3 = rowsOf(*source, end2, *end3);
  EXPECT_EQ(rows3.size(), 1u);
  EXPECT_NE(rows3, rows2);
  // The first batch's rows, planned by a run that never saw it.
  EXPECT_EQ(rowsOf(*source, before, *end1), rows1);
}

template <typename T>
std::unique_ptr<Fed> make() {
  return std::make_unique<T>();
}

using Start = std::pair<std::string, std::string>;
Options options(std::vector<Start> entries) {
  Options made;
  for (auto& [name, value] : entries) made.set(name, value);
  return made;
}
const Start kChanges{"readChangeFeed", "true"};

INSTANTIATE_TEST_SUITE_P(
    Sources, SourceContractTest,
    testing::Values(SourceCase{"rate", make<FedRate>, options({}), options({})},
                    SourceCase{"json", make<FedJson>, options({{"latestFirst", "false"}}),
                               options({{"latestFirst", "true"}})},
                    SourceCase{"jsonBackwards", make<FedJson>, options({{"latestFirst", "true"}}),
                               options({{"latestFirst", "false"}})},
                    SourceCase{"kafka", make<FedKafka>, options({{"startingOffsets", "earliest"}}),
                               options({{"startingOffsets", "latest"}})},
                    SourceCase{"kafkaLatest", make<FedKafka>, options({{"startingOffsets", "latest"}}),
                               options({{"startingOffsets", "earliest"}})},
                    SourceCase{"deltaRows", make<FedDelta>, options({{"startingVersion", "0"}}),
                               options({{"startingVersion", "latest"}})},
                    SourceCase{"deltaRowsLatest", make<FedDelta>, options({{"startingVersion", "latest"}}),
                               options({})},
                    SourceCase{"deltaChanges", make<FedDelta>, options({kChanges, {"startingVersion", "0"}}),
                               options({kChanges, {"startingVersion", "latest"}})}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace thalweg
