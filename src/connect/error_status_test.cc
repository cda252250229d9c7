#include "connect/error_status.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "common/secret.h"
#include "connect/error_store.h"
#include "connect/java_classes.h"
#include "connect/test_client.h"
#include "spark/connect/base.pb.h"

namespace thalweg::connect {
namespace {

TEST(ErrorStatus, CarriesConditionClassesAndParameters) {
  const Error error("TABLE_OR_VIEW_NOT_FOUND", "No table `t`.", {{"relationName", "`t`"}});
  const grpc::Status status = toStatus(error, "the-id");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_EQ(status.error_message(), "[TABLE_OR_VIEW_NOT_FOUND] No table `t`. SQLSTATE: 42P01");
  EXPECT_EQ(metadataOf(status, "errorClass"), "TABLE_OR_VIEW_NOT_FOUND");
  EXPECT_EQ(metadataOf(status, "sqlState"), "42P01");
  EXPECT_EQ(metadataOf(status, "messageParameters"), R"({"relationName":"`t`"})");
  EXPECT_EQ(metadataOf(status, "errorId"), "the-id");
  const auto classes = nlohmann::json::parse(*metadataOf(status, "classes"));
  EXPECT_EQ(classes[0], "org.apache.spark.sql.catalyst.ExtendedAnalysisException");
  EXPECT_EQ(classes[1], "org.apache.spark.sql.AnalysisException");
}

TEST(ErrorStatus, DropsLargeParametersAndShortensTheText) {
  // Three bytes a letter in UTF-8 and nine when percent-encoded for the header.
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "\xe6\xb0\xb4";
  const grpc::Status status =
      toStatus(Error("INVALID_OPTION", text, {{"value", std::string(2000, 'v')}}), "");
  EXPECT_EQ(metadataOf(status, "messageParameters"), std::nullopt);
  EXPECT_EQ(metadataOf(status, "errorId"), std::nullopt);
  EXPECT_LT(status.error_message().size(), 1100u);
  EXPECT_EQ(validUtf8(status.error_message()), status.error_message());
}

TEST(ErrorStatus, MasksSecrets) {
  const Secret secret("hunter2-hunter2");
  const Error error("INVALID_OPTION", "password hunter2-hunter2 is wrong", {{"value", "hunter2-hunter2"}});
  const grpc::Status status = toStatus(error, "");
  EXPECT_EQ(status.error_message().find("hunter2"), std::string::npos);
  EXPECT_EQ(status.error_details().find("hunter2"), std::string::npos);
  spark::connect::FetchErrorDetailsResponse details;
  fillErrorDetails(error, &details);
  EXPECT_EQ(details.SerializeAsString().find("hunter2"), std::string::npos);
}

TEST(ErrorStatus, DetailsHoldCausesAndContexts) {
  const Error error = Error("STREAM_FAILED", "The query ended.", {{"id", "1"}})
                          .withQueryContext({"a/b", 3, 5})
                          .withCause(Error("DIVIDE_BY_ZERO", "by zero"));
  spark::connect::FetchErrorDetailsResponse details;
  fillErrorDetails(error, &details);
  ASSERT_EQ(details.errors_size(), 2);
  EXPECT_EQ(details.root_error_idx(), 0);
  EXPECT_EQ(details.errors(0).error_type_hierarchy(0),
            "org.apache.spark.sql.streaming.StreamingQueryException");
  EXPECT_EQ(details.errors(0).cause_idx(), 1);
  EXPECT_EQ(details.errors(0).spark_throwable().error_class(), "STREAM_FAILED");
  EXPECT_EQ(details.errors(0).spark_throwable().query_contexts(0).fragment(), "a/b");
  EXPECT_EQ(details.errors(1).spark_throwable().sql_state(), "22012");
  EXPECT_FALSE(details.errors(1).has_cause_idx());
}

TEST(ErrorStatus, ReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(validUtf8("a\xffz"), "a\xef\xbf\xbdz");
  EXPECT_EQ(validUtf8("\xc3\xa4\xf0\x9f\x8c\x8a"), "\xc3\xa4\xf0\x9f\x8c\x8a");
  EXPECT_EQ(validUtf8("\xc0\xaf"), "\xef\xbf\xbd\xef\xbf\xbd");  // overlong
  EXPECT_EQ(validUtf8("\xed\xa0\x80").size(), 9u);               // a surrogate
}

TEST(JavaClasses, HandleErrorsAreSparkSqlExceptions) {
  EXPECT_EQ(javaClasses(Error("INVALID_HANDLE.SESSION_CLOSED", "")).front(),
            "org.apache.spark.SparkSQLException");
  EXPECT_EQ(javaClasses(Error("DELTA_CONCURRENT_APPEND.ROW_LEVEL_CHANGES", "")).front(),
            "io.delta.exceptions.ConcurrentAppendException");
  EXPECT_EQ(javaClasses(Error("INTERNAL_ERROR", "")).front(), "org.apache.spark.SparkException");
}

TEST(ErrorStore, GivesAnErrorOnceToItsOwner) {
  ErrorStore store;
  const SessionKey owner{0, "u", "s"};
  const std::string id = store.keep(owner, Error("DIVIDE_BY_ZERO", "by zero"));
  EXPECT_FALSE(store.take({1, "u", "s"}, id));
  EXPECT_EQ(store.take(owner, id)->condition(), "DIVIDE_BY_ZERO");
  EXPECT_FALSE(store.take(owner, id));
}

TEST(ErrorStore, KeepsTheLatest) {
  ErrorStore store;
  const std::string first = store.keep({}, Error("DIVIDE_BY_ZERO", ""));
  for (size_t i = 0; i < ErrorStore::kCapacity; ++i) store.keep({}, Error("DIVIDE_BY_ZERO", ""));
  EXPECT_FALSE(store.take({}, first));
}

}  // namespace
}  // namespace thalweg::connect
