// Any bytes as SQL text: an answer or an Error, never a crash. What parses must survive its own serialization.
#include <google/protobuf/stubs/logging.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/error.h"
#include "spark/connect/expressions.pb.h"
#include "spark/connect/relations.pb.h"
#include "sql/parser.h"

// The library logs each text that is no UTF-8: requests cannot hold one.
[[maybe_unused]] static auto* const kQuiet = google::protobuf::SetLogHandler(nullptr);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    thalweg::sql::parseStatement(text);
  } catch (const thalweg::Error&) {
  }
  try {
    spark::connect::Expression expression;
    thalweg::sql::parseExpression(text, &expression);
    expression.SerializeAsString();
  } catch (const thalweg::Error&) {
  }
  try {
    thalweg::sql::parseTableName(text);
  } catch (const thalweg::Error&) {
  }
  return 0;
}
