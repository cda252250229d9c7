#include "connect/java_classes.h"

#include <iterator>

namespace thalweg::connect {
namespace {

using Classes = std::span<const std::string_view>;

#define THALWEG_THROWABLE "java.lang.Exception", "java.lang.Throwable", "java.lang.Object"
#define THALWEG_RUNTIME "java.lang.RuntimeException", THALWEG_THROWABLE
#define THALWEG_CONCURRENT                                                                                 \
  "io.delta.exceptions.DeltaConcurrentModificationException", "java.util.ConcurrentModificationException", \
      THALWEG_RUNTIME

constexpr std::string_view kAnalysis[] = {"org.apache.spark.sql.catalyst.ExtendedAnalysisException",
                                          "org.apache.spark.sql.AnalysisException", THALWEG_THROWABLE};
constexpr std::string_view kParse[] = {"org.apache.spark.sql.catalyst.parser.ParseException",
                                       "org.apache.spark.sql.AnalysisException", THALWEG_THROWABLE};
constexpr std::string_view kStreamingQuery[] = {"org.apache.spark.sql.streaming.StreamingQueryException",
                                                THALWEG_THROWABLE};
constexpr std::string_view kIllegalArgument[] = {"org.apache.spark.SparkIllegalArgumentException",
                                                 "java.lang.IllegalArgumentException", THALWEG_RUNTIME};
constexpr std::string_view kArithmetic[] = {"org.apache.spark.SparkArithmeticException",
                                            "java.lang.ArithmeticException", THALWEG_RUNTIME};
constexpr std::string_view kNumberFormat[] = {"org.apache.spark.SparkNumberFormatException",
                                              "java.lang.NumberFormatException",
                                              "java.lang.IllegalArgumentException", THALWEG_RUNTIME};
constexpr std::string_view kDateTime[] = {"org.apache.spark.SparkDateTimeException",
                                          "java.time.DateTimeException", THALWEG_RUNTIME};
constexpr std::string_view kArrayIndex[] = {"org.apache.spark.SparkArrayIndexOutOfBoundsException",
                                            "java.lang.ArrayIndexOutOfBoundsException",
                                            "java.lang.IndexOutOfBoundsException", THALWEG_RUNTIME};
constexpr std::string_view kUnsupported[] = {"org.apache.spark.SparkUnsupportedOperationException",
                                             "java.lang.UnsupportedOperationException", THALWEG_RUNTIME};
constexpr std::string_view kSparkRuntime[] = {"org.apache.spark.SparkRuntimeException", THALWEG_RUNTIME};
constexpr std::string_view kNoSuchElement[] = {"org.apache.spark.SparkNoSuchElementException",
                                               "java.util.NoSuchElementException", THALWEG_RUNTIME};
constexpr std::string_view kInvalidPlan[] = {"org.apache.spark.sql.connect.common.InvalidPlanInput",
                                             THALWEG_THROWABLE};
constexpr std::string_view kConcurrent[] = {THALWEG_CONCURRENT};
constexpr std::string_view kSpark[] = {"org.apache.spark.SparkException", THALWEG_THROWABLE};
constexpr std::string_view kSparkSql[] = {"org.apache.spark.SparkSQLException", "java.sql.SQLException",
                                          THALWEG_THROWABLE};
constexpr std::string_view kConcurrentAppend[] = {"io.delta.exceptions.ConcurrentAppendException",
                                                  THALWEG_CONCURRENT};
constexpr std::string_view kConcurrentDeleteRead[] = {"io.delta.exceptions.ConcurrentDeleteReadException",
                                                      THALWEG_CONCURRENT};
constexpr std::string_view kConcurrentDeleteDelete[] = {"io.delta.exceptions.ConcurrentDeleteDeleteException",
                                                        THALWEG_CONCURRENT};
constexpr std::string_view kConcurrentTransaction[] = {"io.delta.exceptions.ConcurrentTransactionException",
                                                       THALWEG_CONCURRENT};
constexpr std::string_view kMetadataChanged[] = {"io.delta.exceptions.MetadataChangedException",
                                                 THALWEG_CONCURRENT};
constexpr std::string_view kProtocolChanged[] = {"io.delta.exceptions.ProtocolChangedException",
                                                 THALWEG_CONCURRENT};

#undef THALWEG_CONCURRENT
#undef THALWEG_RUNTIME
#undef THALWEG_THROWABLE

// Conditions whose class is not that of their kind; an entry holds for its sub-conditions.
struct Exceptional {
  std::string_view condition;
  Classes classes;
};
constexpr Exceptional kExceptional[] = {
    {"DELTA_CONCURRENT_APPEND", kConcurrentAppend},
    {"DELTA_CONCURRENT_DELETE_DELETE", kConcurrentDeleteDelete},
    {"DELTA_CONCURRENT_DELETE_READ", kConcurrentDeleteRead},
    {"DELTA_CONCURRENT_TRANSACTION", kConcurrentTransaction},
    {"DELTA_METADATA_CHANGED", kMetadataChanged},
    {"DELTA_PROTOCOL_CHANGED", kProtocolChanged},
    {"INVALID_CURSOR", kSparkSql},
    {"INVALID_HANDLE", kSparkSql},
    {"OPERATION_CANCELED", kSparkSql},
};

Classes classesOf(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::Analysis:
      return kAnalysis;
    case ErrorKind::Parse:
      return kParse;
    case ErrorKind::StreamingQuery:
      return kStreamingQuery;
    case ErrorKind::IllegalArgument:
      return kIllegalArgument;
    case ErrorKind::Arithmetic:
      return kArithmetic;
    case ErrorKind::NumberFormat:
      return kNumberFormat;
    case ErrorKind::DateTime:
      return kDateTime;
    case ErrorKind::ArrayIndexOutOfBounds:
      return kArrayIndex;
    case ErrorKind::Unsupported:
      return kUnsupported;
    case ErrorKind::SparkRuntime:
      return kSparkRuntime;
    case ErrorKind::SparkNoSuchElement:
      return kNoSuchElement;
    case ErrorKind::InvalidPlanInput:
      return kInvalidPlan;
    case ErrorKind::ConcurrentModification:
      return kConcurrent;
    case ErrorKind::Spark:
      return kSpark;
  }
  return kSpark;
}

}  // namespace

Classes javaClasses(const Error& error) {
  const std::string_view condition = error.condition();
  const std::string_view family = condition.substr(0, condition.find('.'));
  for (const Exceptional& entry : kExceptional) {
    if (entry.condition == family) return entry.classes;
  }
  return classesOf(error.kind());
}

}  // namespace thalweg::connect
