// Any text goes through the codecs of paths and partition values: folders come back as they were, values are
// values or Errors.
#include "common/error.h"
#include "delta/files/partition_values.h"
#include "storage/uri_path.h"

#include <arrow/scalar.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace thalweg;
  const std::string text(reinterpret_cast<const char*>(data), size);
  THALWEG_ASSERT(decodeUriPath(encodeUriPath(text)) == text);
  THALWEG_ASSERT(delta::unescapeFolder(delta::escapeForFolder(text)) == text);
  decodeUriPath(text);
  normalizeAbsolutePath(text);
  const DataTypePtr types[] = {
      booleanType(), byteType(),      longType(),   floatType(),  doubleType(),      DataType::decimal(20, 3),
      dateType(),    timestampType(), stringType(), binaryType(), timestampNtzType()};
  static const TimeZone zone = TimeZone::parse("Europe/Berlin");
  for (const DataTypePtr& type : types) {
    try {
      delta::parsePartitionValue(text, *type, "c", zone);
    } catch (const Error&) {
    }
  }
  return 0;
}
