// Any text as a data file's statistics on its way into a checkpoint: a row is a sound struct, and what it
// says comes back as JSON.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <arrow/array.h>
#include <arrow/array/builder_nested.h>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "delta/checkpoint/parsed_values.h"
#include "delta/log/parsed_stats.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace {

using namespace thalweg;

// A column of each type that has bounds, one of them in a struct.
DataTypePtr statisticsType() {
  const DataTypePtr values = DataType::structOf({{"a", longType()},
                                                 {"b", byteType()},
                                                 {"c", floatType()},
                                                 {"d", doubleType()},
                                                 {"e", stringType()},
                                                 {"f", dateType()},
                                                 {"g", timestampType()},
                                                 {"h", timestampNtzType()},
                                                 {"i", DataType::decimal(20, 3)},
                                                 {"s", DataType::structOf({{"a", intType()}})}});
  const DataTypePtr counts =
      DataType::structOf({{"a", longType()}, {"s", DataType::structOf({{"a", longType()}})}});
  return DataType::structOf({{"numRecords", longType()},
                             {"minValues", values},
                             {"maxValues", values},
                             {"nullCount", counts},
                             {"tightBounds", booleanType()}});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const DataTypePtr type = statisticsType();
  const auto builder = valueOrThrow(arrow::MakeBuilder(toArrowType(*type)));
  auto& rows = static_cast<arrow::StructBuilder&>(*builder);
  delta::ParsedStatsWriter writer(type, rows);
  try {
    writer.append(std::string_view(reinterpret_cast<const char*>(data), size));
    writer.append(std::nullopt);
  } catch (const Error&) {
    return 0;
  }
  const auto array = valueOrThrow(builder->Finish());
  THALWEG_ASSERT(array->length() == 2 && array->IsNull(1));
  throwIfFailed(array->Validate());
  if (const auto text = delta::parsedStatsToJson(*array, 0))
    THALWEG_ASSERT(!nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false).is_discarded());
  return 0;
}
