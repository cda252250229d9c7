// Any bytes as a JSON record: no crash, and the fast parser never answers otherwise than the exact one.
#include <cstdint>
#include <cstdlib>

#include <arrow/api.h>

#include "formats/json/json_parser.h"
#include "types/ddl.h"

namespace {

const thalweg::JsonParser& parser() {
  static const thalweg::JsonParser instance(
      thalweg::parseSchemaDdl(
          "a int, b string, c double, d decimal(10,2), e date, t timestamp, y binary, s "
          "struct<x:int,y:string>, "
          "l array<int>, m map<string,int>, ls array<struct<x:float>>, _corrupt_record string"),
      thalweg::JsonOptions::parse({}));
  return instance;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  arrow::BinaryBuilder builder;
  if (!builder.Append(data, static_cast<int32_t>(size)).ok()) return 0;
  const auto texts = builder.Finish().ValueOrDie();
  auto fast = parser().newWorker();
  auto exact = parser().newWorker();
  exact->disableFastParser();
  const auto left = fast->parse(*texts);
  const auto right = exact->parse(*texts);
  if (!left->Equals(*right, arrow::EqualOptions::Defaults().nans_equal(true).signed_zeros_equal(false)))
    std::abort();
  return 0;
}
