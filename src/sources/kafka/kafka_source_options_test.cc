#include "sources/kafka/kafka_source_options.h"

#include <gtest/gtest.h>

#include "common/error.h"
#include "sources/kafka/kafka_source.h"

namespace thalweg {
namespace {

Options withServer(std::initializer_list<std::pair<std::string, std::string>> more) {
  Options options{{"kafka.bootstrap.servers", "h:1"}, {"subscribe", "t"}};
  for (const auto& [name, value] : more) options.set(name, value);
  return options;
}

void expectRefused(const Options& options, KafkaReadMode mode, const std::string& part) {
  try {
    validateKafkaOptions(options, mode);
    FAIL() << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::IllegalArgument) << part;
    EXPECT_NE(error.text().find(part), std::string::npos) << error.text();
  }
}

TEST(KafkaSourceOptions, WhatSparkRefusesIsRefused) {
  const auto stream = KafkaReadMode::Stream;
  const auto batch = KafkaReadMode::Batch;
  expectRefused(Options{{"kafka.bootstrap.servers", "h:1"}}, stream, "One of the following options");
  expectRefused(withServer({{"assign", "{}"}}), stream, "Only one of");
  expectRefused(Options{{"kafka.bootstrap.servers", "h:1"}, {"assign", "t"}}, stream, "assign");
  expectRefused(Options{{"kafka.bootstrap.servers", "h:1"}, {"subscribe", " , "}}, stream, "subscribe");
  expectRefused(Options{{"kafka.bootstrap.servers", "h:1"}, {"subscribePattern", "("}}, stream, "subscribePattern");
  expectRefused(Options{{"subscribe", "t"}}, stream, "kafka.bootstrap.servers");
  expectRefused(withServer({{"minPartitions", "0"}}), stream, "minPartitions");
  expectRefused(withServer({{"minOffsetsPerTrigger", "5"}, {"maxOffsetsPerTrigger", "4"}}), stream, "minOffsetsPerTrigger(5)");
  expectRefused(withServer({{"endingOffsets", "latest"}}), stream, "ending offset not valid in streaming queries");
  expectRefused(withServer({{"startingOffsets", "latest"}}), batch, "starting offset can't be latest");
  expectRefused(withServer({{"startingOffsets", R"({"t":{"0":-1}})"}}), batch, "t-0");
  expectRefused(withServer({{"endingOffsets", "earliest"}}), batch, "ending offset can't be earliest");
  expectRefused(withServer({{"startingOffsets", "soon"}}), stream, "startingOffsets");
  expectRefused(withServer({{"maxTriggerDelay", "soon"}}), stream, "maxTriggerDelay");
}

TEST(KafkaSourceOptions, DefaultsAreSparks) {
  const KafkaSourceOptions stream = parseKafkaSourceOptions(withServer({}), KafkaReadMode::Stream);
  EXPECT_EQ(stream.starting.kind, KafkaPosition::Kind::Latest);
  EXPECT_TRUE(stream.failOnDataLoss);
  EXPECT_EQ(stream.maxTriggerDelayMs, 900'000);
  const KafkaSourceOptions batch = parseKafkaSourceOptions(withServer({}), KafkaReadMode::Batch);
  EXPECT_EQ(batch.starting.kind, KafkaPosition::Kind::Earliest);
  EXPECT_EQ(batch.ending.kind, KafkaPosition::Kind::Latest);
}

TEST(KafkaSourceOptions, ATimestampWinsOverOffsets) {
  const auto parsed = parseKafkaSourceOptions(withServer({{"startingOffsets", "earliest"}, {"startingTimestamp", "1000"},
                                                          {"startingOffsetsByTimestamp", R"({"t":{"0":5}})"}}),
                                              KafkaReadMode::Stream);
  EXPECT_EQ(parsed.starting.kind, KafkaPosition::Kind::Time);
  EXPECT_EQ(parsed.starting.timeMs, 1000);
}

TEST(KafkaSourceOptions, StrategiesAreShownAsSparkShowsThem) {
  const auto shown = [](const char* name, const char* value) {
    return parseKafkaSourceOptions(Options{{"kafka.bootstrap.servers", "h:1"}, {name, value}}, KafkaReadMode::Stream).strategy.description();
  };
  EXPECT_EQ(shown("subscribe", "a, b"), "Subscribe[a, b]");
  EXPECT_EQ(shown("subscribePattern", "a.*"), "SubscribePattern[a.*]");
  EXPECT_EQ(shown("assign", R"({"a":[1,0]})"), "Assign[a-0, a-1]");
}

TEST(KafkaSourceOptions, TheSchemaIsSparks) {
  EXPECT_EQ(kafkaSchema(Options{})->simpleString(),
            "struct<key:binary,value:binary,topic:string,partition:int,offset:bigint,timestamp:timestamp,timestampType:int>");
  EXPECT_EQ(kafkaSchema(Options{{"includeHeaders", "true"}})->fields().back().type->simpleString(),
            "array<struct<key:string,value:binary>>");
}

}  // namespace
}  // namespace thalweg
