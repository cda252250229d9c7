// Any bytes as the name of a folder: refused with an Error, or a column whose type its own value is of.
#include <cstdint>
#include <cstdlib>
#include <string>

#include <arrow/scalar.h>

#include "common/error.h"
#include "sources/files/partition_columns.h"

using namespace thalweg;

namespace {

// Whether the value of the one folder can be had in the type that was inferred from it.
bool isOfItsType(const std::string& folder) {
  PartitionInference inference(nullptr, FolderRules());
  inference.add({folder});
  const PartitionValue value = parsePartitionFolder(folder);
  try {
    const auto scalar = partitionScalar(value, *inference.columns().at(0).type, TimeZone());
    return scalar->is_valid == value.written.has_value();
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string folder(reinterpret_cast<const char*>(data), size);
  if (folder.find('=') == std::string::npos) return 0;
  try {
    parsePartitionFolder(folder);
  } catch (const Error&) {
    return 0;
  }
  if (!isOfItsType(folder)) std::abort();
  return 0;
}
