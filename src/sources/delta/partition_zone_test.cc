// Timestamps of partitions that say no zone, as writers before 2024 logged them, are of the session's zone.
#include <arrow/scalar.h>
#include <gtest/gtest.h>

#include "delta/commit/transaction.h"
#include "delta/files/data_file_writer.h"
#include "sources/delta/change_feed_table.h"
#include "sources/delta/delta_table.h"
#include "sources/delta/delta_test_support.h"
#include "types/arrow_types.h"
#include "types/ddl.h"
#include "types/schema_json.h"

namespace thalweg {
namespace {

class PartitionZoneTest : public testing::Test {
 protected:
  // The row 1 in a file of ten o'clock somewhere, 2 in one of nine o'clock UTC, 3 in one of ten o'clock UTC.
  PartitionZoneTest() {
    delta::Transaction creation(log_, nullptr);
    delta::Metadata metadata;
    metadata.schemaString = toSchemaJson(*parseSchemaDdl("id BIGINT, t TIMESTAMP"));
    metadata.partitionColumns = {"t"};
    metadata.configuration["delta.enableChangeDataFeed"] = "true";
    creation.setMetadata(metadata);
    creation.setOperation({.name = "CREATE TABLE"});
    creation.commit();
    append(1, "2024-01-01 10:00:00");
    append(2, "2024-01-01T09:00:00.000000Z");
    append(3, "2024-01-01T10:00:00.000000Z");
  }

  void append(int64_t id, const std::string& time) {
    const auto snapshot = log_->require();
    const auto layout = delta::makeDataFileLayout(log_->table(), snapshot->metadata(), snapshot->protocol());
    delta::DataFileWriter writer(layout, {{"t", time}}, 0);
    arrow::Int64Builder ids;
    EXPECT_TRUE(ids.Append(id).ok());
    writer.write(
        *arrow::RecordBatch::Make(arrow::schema({arrow::field("id", arrow::int64())}), 1, {*ids.Finish()}));
    delta::Transaction transaction(log_, snapshot);
    transaction.add(*writer.close());
    transaction.setOperation({.name = "WRITE"});
    transaction.commit();
  }

  // The ids of rows, by the hour UTC of that day.
  static RowTexts idsByHour(const std::vector<SplitPtr>& splits) {
    ReadRequest request;
    request.columns = {0, 1};
    RowTexts rows;
    for (const SplitPtr& split : splits) {
      const auto reader = split->open(request);
      while (const auto batch = reader->next()) {
        const auto& ids = static_cast<const arrow::Int64Array&>(*batch->column(0));
        const auto& times = static_cast<const arrow::TimestampArray&>(*batch->column(1));
        for (int64_t row = 0; row < batch->num_rows(); ++row) {
          const int64_t hour = (times.Value(row) - 1704067200000000) / 3'600'000'000;
          rows.insert(std::to_string(ids.Value(row)) + " at " + std::to_string(hour));
        }
      }
    }
    return rows;
  }

  static std::vector<ColumnPredicate> atNine() {
    return {{"t", ColumnPredicate::Op::Equal,
             std::make_shared<arrow::TimestampScalar>(1704099600000000, toArrowType(*timestampType()))}};
  }

  std::shared_ptr<delta::DeltaLog> log_ =
      std::make_shared<delta::DeltaLog>(Location{makeMemoryFileSystem(), "/t"});
};

TEST_F(PartitionZoneTest, BatchesReadAndPruneByTheSessionsZone) {
  const auto berlin = openDeltaTable(log_, {}, {}, "Europe/Berlin");
  EXPECT_EQ(idsByHour(berlin->planScan({})), (RowTexts{"1 at 9", "2 at 9", "3 at 10"}));
  EXPECT_EQ(idsByHour(berlin->planScan(atNine())), (RowTexts{"1 at 9", "2 at 9"}));
  const auto utc = openDeltaTable(log_, {}, {}, "UTC");
  EXPECT_EQ(idsByHour(utc->planScan(atNine())), (RowTexts{"2 at 9"}));
  EXPECT_EQ(idsByHour(openDeltaTable(log_, {}, Options{{"versionAsOf", "2"}}, "Europe/Berlin")->planScan({})),
            (RowTexts{"1 at 9", "2 at 9"}));
}

TEST_F(PartitionZoneTest, ANewerVersionIsReadInTheSameZone) {
  const auto table = openDeltaTable(log_, {}, {}, "Europe/Berlin");
  append(4, "2024-01-01 11:00:00");
  EXPECT_EQ(idsByHour(table->latest()->planScan({})), (RowTexts{"1 at 9", "2 at 9", "3 at 10", "4 at 10"}));
}

TEST_F(PartitionZoneTest, ChangesAreReadInTheSessionsZone) {
  const auto feed = openChangeFeed(log_, {}, Options{{"readChangeFeed", "true"}, {"startingVersion", "0"}},
                                   "Europe/Berlin");
  EXPECT_EQ(idsByHour(feed->planScan(atNine())), (RowTexts{"1 at 9", "2 at 9"}));
}

TEST_F(PartitionZoneTest, StreamsReadInTheSessionsZone) {
  ReadDefinition read;
  read.paths = {"/t"};
  read.timeZone = "Europe/Berlin";
  StreamSourceContext context;
  context.metadataFolder = {makeMemoryFileSystem(), "/checkpoint/sources/0"};
  const auto stream =
      openDeltaStream(log_, read, context, [](std::string_view) -> Location { std::abort(); });
  const auto start = stream->initialOffset();
  const auto end = stream->latestOffset(start, false);
  ASSERT_TRUE(end);
  EXPECT_EQ(idsByHour(stream->plan(start, *end)), (RowTexts{"1 at 9", "2 at 9", "3 at 10"}));
}

}  // namespace
}  // namespace thalweg
