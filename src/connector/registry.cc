#include "connector/registry.h"

#include <algorithm>
#include <iterator>

#include "common/error.h"

namespace thalweg {
namespace {

// Of Spark and its common packages; lower case.
constexpr std::string_view kSparksFormats[] = {"avro", "binaryfile", "cloudfiles", "csv",    "hive", "image", "jdbc",
                                               "orc",  "parquet",    "protobuf",   "socket", "text", "xml",   "rate-micro-batch"};

bool isSparksFormat(std::string_view name) {
  return std::any_of(std::begin(kSparksFormats), std::end(kSparksFormats), [&](std::string_view known) { return equalsIgnoreCase(name, known); });
}

}  // namespace

void FormatRegistry::add(FormatProvider provider) {
  std::string key = toLowerAscii(provider.name);
  const bool isNew = providers_.emplace(std::move(key), std::move(provider)).second;
  THALWEG_ASSERT(isNew);
}

const FormatProvider& FormatRegistry::find(std::string_view name) const {
  auto it = providers_.find(toLowerAscii(name));
  if (it == providers_.end() && isSparksFormat(name)) {
    // Often nobody named it: it is the default of tables and writes.
    throw unsupported("The format '" + std::string(name) + "' (where none is named, spark.sql.sources.default is meant: say "
                      "format(\"delta\") or USING delta, or set it to delta)");
  }
  if (it == providers_.end()) {
    throw Error("DATA_SOURCE_NOT_FOUND", "There is no data source '" + std::string(name) + "'; check the name given to format().",
                {{"provider", std::string(name)}});
  }
  return it->second;
}

}  // namespace thalweg
