#include "sources/delta/delta_metadata_column.h"

#include <arrow/api.h>

#include "storage/file_uri.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

std::shared_ptr<arrow::Array> repeated(const arrow::Scalar& value, int64_t rows) {
  return valueOrThrow(arrow::MakeArrayFromScalar(value, rows));
}

std::shared_ptr<arrow::Array> longs(std::optional<int64_t> value, int64_t rows) {
  if (!value) return valueOrThrow(arrow::MakeArrayOfNull(arrow::int64(), rows));
  return repeated(arrow::Int64Scalar(*value), rows);
}

}  // namespace

DataTypePtr deltaMetadataType(bool rowTracking) {
  std::vector<StructField> fields = {
      {"file_path", stringType(), false, ""},       {"file_name", stringType(), false, ""},
      {"file_size", longType(), false, ""},         {"file_block_start", longType(), false, ""},
      {"file_block_length", longType(), false, ""}, {"file_modification_time", timestampType(), false, ""}};
  if (rowTracking) {
    for (const char* name :
         {"row_index", "row_id", "base_row_id", "default_row_commit_version", "row_commit_version"})
      fields.push_back({name, longType(), false, ""});
  }
  return DataType::structOf(std::move(fields));
}

std::shared_ptr<arrow::Array> deltaMetadataArray(const Location& location, const delta::AddFile& file,
                                                 const std::shared_ptr<arrow::Array>& positions,
                                                 const std::optional<TrackedRows>& tracked) {
  const int64_t rows = positions->length();
  const auto type = toArrowType(*deltaMetadataType(tracked.has_value()));
  const std::string uri = shortFileUri(*location.fileSystem, location.path);
  const auto timeType = toArrowType(*timestampType());
  arrow::ArrayVector columns = {
      repeated(arrow::StringScalar(uri), rows),
      repeated(arrow::StringScalar(uri.substr(uri.rfind('/') + 1)), rows),
      longs(file.size, rows),
      longs(0, rows),
      longs(file.size, rows),
      repeated(arrow::TimestampScalar(file.modificationTime * 1000, timeType), rows)};
  if (tracked) {
    columns.push_back(positions);
    columns.push_back(tracked->rowIds);
    columns.push_back(longs(file.baseRowId, rows));
    columns.push_back(longs(file.defaultRowCommitVersion, rows));
    columns.push_back(tracked->rowCommitVersions);
  }
  return std::make_shared<arrow::StructArray>(type, rows, std::move(columns));
}

}  // namespace thalweg
