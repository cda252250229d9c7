// Binary rows from foreign hands. A row that is accepted is one that can be written again and read to the
// same values.
#include <cstdint>

#include <arrow/api.h>

#include "columnar/binary_row.h"
#include "columnar/binary_row_fields.h"
#include "common/error.h"
#include "types/ddl.h"

namespace {

using namespace thalweg;

std::vector<DataTypePtr> types() {
  return fieldTypes(*parseSchemaDdl(
      "b BOOLEAN, i INT, l BIGINT, d DOUBLE, s STRING, n DECIMAL(10, 2), m DECIMAL(38, 4), t STRUCT<x: "
      "TIMESTAMP, y: STRING>, "
      "a ARRAY<ARRAY<STRING>>, p MAP<STRING, STRUCT<z: SMALLINT, w: ARRAY<DECIMAL(20, 0)>>>"));
}

std::vector<std::shared_ptr<arrow::Array>> decode(std::string_view row) {
  static const auto all = types();
  BinaryRowDecoder decoder(all, BinaryRowDecoder::Role::Value, arrow::default_memory_pool());
  decoder.append(std::vector<std::string_view>{row});
  return decoder.finish();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view row(reinterpret_cast<const char*>(data), size);
  try {
    const BinaryRowSplitter splitter(types(), 5);
    std::string prefix, rest, joined;
    splitter.appendPrefix(row, &prefix);
    splitter.appendRest(row, &rest);
    splitter.appendJoined(prefix, rest, &joined);
  } catch (const Error&) {
  }
  try {
    const auto columns = decode(row);
    for (const auto& column : columns) THALWEG_ASSERT(column->Validate().ok());
    BinaryRows again;
    BinaryRowEncoder(types()).encode(columns, 0, 1, &again);
    const auto same = decode(again[0]);
    BinaryRows third;
    BinaryRowEncoder(types()).encode(same, 0, 1, &third);
    THALWEG_ASSERT(third[0] == again[0]);
  } catch (const Error&) {
  }
  return 0;
}
