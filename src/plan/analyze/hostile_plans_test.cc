// What a client may put into a plan that no client of Spark's would: an Error each, never the end of the
// server.
#include <arrow/api.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/writer.h>
#include <arrow/util/compression.h>
#include <gtest/gtest.h>
#include <spark/connect/relations.pb.h>

#include "common/testing/condition_of.h"
#include "plan/analyze/analyzer.h"

namespace thalweg {
namespace {

std::string analyzed(const spark::connect::Relation& relation) {
  return conditionOf([&] { analyzeRelation(relation, AnalyzerContext{}); });
}

std::string bytesOf(const std::shared_ptr<arrow::Schema>& schema) {
  const auto sink = arrow::io::BufferOutputStream::Create().ValueOrDie();
  const auto writer = arrow::ipc::MakeStreamWriter(sink, schema).ValueOrDie();
  EXPECT_TRUE(writer->Close().ok());
  return sink->Finish().ValueOrDie()->ToString();
}

TEST(HostilePlans, DecimalLiteralsOfImpossibleTypes) {
  for (const auto& [precision, scale] :
       std::vector<std::pair<int, int>>{{5, -1}, {-3, 0}, {39, 0}, {1, 39}, {INT32_MIN, INT32_MIN}}) {
    spark::connect::Relation relation;
    auto* project = relation.mutable_project();
    auto* decimal = project->add_expressions()->mutable_literal()->mutable_decimal();
    decimal->set_value("1");
    decimal->set_precision(precision);
    decimal->set_scale(scale);
    EXPECT_EQ(analyzed(relation), "DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION") << precision << "," << scale;
  }
}

TEST(HostilePlans, RowsOfDecimalsThatSparkHasNot) {
  for (const auto& [precision, scale] : std::vector<std::pair<int, int>>{{10, -2}, {2, 5}}) {
    spark::connect::Relation relation;
    relation.mutable_local_relation()->set_data(
        bytesOf(arrow::schema({arrow::field("d", arrow::decimal128(precision, scale))})));
    EXPECT_EQ(analyzed(relation), "UNSUPPORTED_DATATYPE") << precision << "," << scale;
  }
}

// Some kilobytes that stand for 640 MB, in one batch or in many.
TEST(HostilePlans, CompressedRowsThatGrowWithoutBound) {
  constexpr int64_t kRows = 80'000'000;
  for (const int64_t batchRows : {kRows, kRows / 40}) {
    const auto sink = arrow::io::BufferOutputStream::Create().ValueOrDie();
    auto options = arrow::ipc::IpcWriteOptions::Defaults();
    options.codec = arrow::util::Codec::Create(arrow::Compression::ZSTD).ValueOrDie();
    const auto schema = arrow::schema({arrow::field("l", arrow::int64())});
    const auto writer = arrow::ipc::MakeStreamWriter(sink, schema, options).ValueOrDie();
    const auto zeros = arrow::MakeArrayFromScalar(arrow::Int64Scalar(0), batchRows).ValueOrDie();
    const auto batch = arrow::RecordBatch::Make(schema, batchRows, {zeros});
    for (int64_t rows = 0; rows < kRows; rows += batchRows)
      ASSERT_TRUE(writer->WriteRecordBatch(*batch).ok());
    ASSERT_TRUE(writer->Close().ok());
    spark::connect::Relation relation;
    relation.mutable_local_relation()->set_data(sink->Finish().ValueOrDie()->ToString());
    EXPECT_LT(relation.local_relation().data().size(), 1'000'000u);
    EXPECT_EQ(analyzed(relation), "CONNECT_INVALID_PLAN.INVALID_ARROW_DATA");
  }
}

}  // namespace
}  // namespace thalweg
