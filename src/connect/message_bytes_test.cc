#include "connect/message_bytes.h"

#include <google/protobuf/arena.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include "common/error.h"
#include "spark/connect/base.pb.h"

namespace thalweg::connect {
namespace {

using google::protobuf::Arena;
using spark::connect::AnalyzePlanRequest;
using spark::connect::ExecutePlanRequest;
using spark::connect::Plan;
using spark::connect::Relation;

// Bytes of a message field (wire type 2).
std::string field(int number, const std::string& content) {
  std::string bytes;
  const auto varint = [&](uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
    bytes += static_cast<char>(value);
  };
  varint(static_cast<uint64_t>(number) << 3 | 2);
  varint(content.size());
  return bytes + content;
}

// An ExecutePlanRequest whose plan is `filters` filters over nothing: each is two messages, Relation and
// Filter, below request, plan and the innermost relation.
std::string nestedFilters(int filters) {
  std::string relation;
  for (int i = 0; i < filters; ++i) relation = field(Relation::kFilterFieldNumber, field(1, relation));
  return field(ExecutePlanRequest::kPlanFieldNumber, field(Plan::kRootFieldNumber, relation));
}

std::string errorOf(const std::string& bytes, const Limits& limits = {}) {
  Arena arena;
  try {
    parseRequest(bytes, limits, Arena::CreateMessage<ExecutePlanRequest>(&arena));
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.condition(), "CONNECT_INVALID_PLAN.CANNOT_PARSE");
    return error.text();
  }
}

std::string compress(const std::string& bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 1));
  return out;
}

ExecutePlanRequest compressedRequest(const std::string& data) {
  ExecutePlanRequest request;
  auto* operation = request.mutable_plan()->mutable_compressed_operation();
  operation->set_data(data);
  operation->set_op_type(Plan::CompressedOperation::OP_TYPE_RELATION);
  operation->set_compression_codec(spark::connect::COMPRESSION_CODEC_ZSTD);
  return request;
}

TEST(MessageShape, CountsLevelsAndItems) {
  const MessageShape shape = messageShape(nestedFilters(10), *ExecutePlanRequest::descriptor(), {});
  EXPECT_TRUE(shape.wellFormed);
  EXPECT_EQ(shape.depth, 3 + 20);
  EXPECT_EQ(shape.items, 3u + 20u);
}

TEST(ParseRequest, TakesPlansDeeperThanProtobufsDefaultOf100) {
  EXPECT_EQ(errorOf(nestedFilters(500)), "");
}

TEST(ParseRequest, RefusesDeepPlansByName) {
  EXPECT_NE(errorOf(nestedFilters(600)).find("nested more than 1024 levels"), std::string::npos);
  EXPECT_NE(errorOf(nestedFilters(10'000)).find("nested more than 1024 levels"), std::string::npos);
}

TEST(ParseRequest, RefusesTooManyParts) {
  Limits limits;
  limits.planItems = 100;
  ExecutePlanRequest request;
  for (int i = 0; i < 200; ++i) request.add_tags("");
  EXPECT_NE(errorOf(request.SerializeAsString(), limits).find("more than 100 parts"), std::string::npos);
}

TEST(ParseRequest, RefusesBytesThatAreNoMessage) {
  const std::string good = nestedFilters(3);
  for (size_t length = 1; length < good.size(); ++length)
    EXPECT_NE(errorOf(good.substr(0, length)), "") << length;
  EXPECT_NE(errorOf("\x0b\x0c"), "");                                  // a group
  EXPECT_NE(errorOf(field(1, "\xff\xfe")), "");                        // text that is not UTF-8
  EXPECT_NE(errorOf(std::string("\x0a\xff\xff\xff\xff\x7f", 6)), "");  // a length beyond the end
}

TEST(ParseRequest, SkipsUnknownFields) {
  EXPECT_EQ(errorOf(field(4000, "anything") + nestedFilters(1)), "");
}

TEST(ParseRequest, DecodesCompressedPlans) {
  Relation relation;
  relation.mutable_sql()->set_query("select 1");
  Arena arena;
  auto* request = Arena::CreateMessage<ExecutePlanRequest>(&arena);
  parseRequest(compressedRequest(compress(relation.SerializeAsString())).SerializeAsString(), {}, request);
  EXPECT_EQ(request->plan().root().sql().query(), "select 1");

  AnalyzePlanRequest analyze;
  *analyze.mutable_explain()->mutable_plan() =
      compressedRequest(compress(relation.SerializeAsString())).plan();
  auto* parsed = Arena::CreateMessage<AnalyzePlanRequest>(&arena);
  parseRequest(analyze.SerializeAsString(), {}, parsed);
  EXPECT_EQ(parsed->explain().plan().root().sql().query(), "select 1");
}

TEST(ParseRequest, BoundsCompressedPlans) {
  Limits limits;
  limits.decodedPlanBytes = 1 << 20;
  const std::string bomb = compress(std::string(64 << 20, '\0'));
  EXPECT_NE(errorOf(compressedRequest(bomb).SerializeAsString(), limits).find("larger than 1048576"),
            std::string::npos);
  const std::string frame = compress("\x0a");
  EXPECT_NE(errorOf(compressedRequest(frame.substr(0, frame.size() - 1)).SerializeAsString()), "");
  EXPECT_NE(errorOf(compressedRequest(frame + "more").SerializeAsString()), "");
  EXPECT_NE(errorOf(compressedRequest("").SerializeAsString()), "");
  std::string deep;
  for (int i = 0; i < 2000; ++i) deep = field(Relation::kFilterFieldNumber, field(1, deep));
  EXPECT_NE(errorOf(compressedRequest(compress(deep)).SerializeAsString()).find("nested more than"),
            std::string::npos);
}

}  // namespace
}  // namespace thalweg::connect
