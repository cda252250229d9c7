#include "sources/delta/delta_metadata_column.h"

#include <arrow/api.h>

#include "sources/files/file_uri.h"
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

// Each row's stored value, else the file's own: a constant, or its first value and the row's place.
std::shared_ptr<arrow::Array> storedOr(const std::shared_ptr<arrow::Array>& stored,
                                       std::optional<int64_t> base, const arrow::Int64Array* positions,
                                       int64_t rows) {
  const auto* values = stored ? &static_cast<const arrow::Int64Array&>(*stored) : nullptr;
  arrow::Int64Builder builder;
  throwIfFailed(builder.Reserve(rows));
  for (int64_t row = 0; row < rows; ++row) {
    if (values && values->IsValid(row)) {
      builder.UnsafeAppend(values->Value(row));
    } else if (base) {
      builder.UnsafeAppend(*base + (positions ? positions->Value(row) : 0));
    } else {
      builder.UnsafeAppendNull();
    }
  }
  return valueOrThrow(builder.Finish());
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
                                                 const RowTrackingColumns& stored, bool rowTracking) {
  const int64_t rows = positions->length();
  const auto type = toArrowType(*deltaMetadataType(rowTracking));
  const std::string uri = shortFileUri(*location.fileSystem, location.path);
  const auto timeType = toArrowType(*timestampType());
  arrow::ArrayVector columns = {
      repeated(arrow::StringScalar(uri), rows),
      repeated(arrow::StringScalar(uri.substr(uri.rfind('/') + 1)), rows),
      longs(file.size, rows),
      longs(0, rows),
      longs(file.size, rows),
      repeated(arrow::TimestampScalar(file.modificationTime * 1000, timeType), rows)};
  if (rowTracking) {
    const auto& places = static_cast<const arrow::Int64Array&>(*positions);
    columns.push_back(positions);
    columns.push_back(storedOr(stored.rowIds, file.baseRowId, &places, rows));
    columns.push_back(longs(file.baseRowId, rows));
    columns.push_back(longs(file.defaultRowCommitVersion, rows));
    columns.push_back(storedOr(stored.rowCommitVersions, file.defaultRowCommitVersion, nullptr, rows));
  }
  return std::make_shared<arrow::StructArray>(type, rows, std::move(columns));
}

}  // namespace thalweg
