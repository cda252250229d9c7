// A file's column brought to the type that a reader wants.
#pragma once

#include <memory>
#include <string>

#include <arrow/type_fwd.h>

#include "formats/parquet/parquet_file.h"
#include "types/data_type.h"

namespace thalweg {

// The position among `fields` of the field that is meant by `wanted`, −1 where there is none. Throws Error
// FAILED_READ_FILE.NO_HINT naming the file where names ignore case and several are meant.
int findField(const std::vector<std::shared_ptr<arrow::Field>>& fields, const StructField& wanted,
              ParquetReadOptions::ColumnMatching matching, const std::string& path);

struct ColumnConversion {
  ParquetReadOptions::ColumnMatching matching = ParquetReadOptions::ColumnMatching::ExactName;
  const std::string* path = nullptr;  // of the file, for errors
  arrow::MemoryPool* memoryPool = nullptr;
  // The file has 96-bit timestamps, which Arrow's types do not tell from others: none are given as numbers.
  bool hasInt96 = false;

  // `column` names the column in errors. Struct members are matched like columns, missing ones are null.
  std::shared_ptr<arrow::Array> convert(const std::shared_ptr<arrow::Array>& array, const DataType& wanted,
                                        const std::string& column) const;

 private:
  std::shared_ptr<arrow::Array> convertStruct(const arrow::Array& array, const DataType& wanted,
                                              const std::string& column) const;
  std::shared_ptr<arrow::Array> convertVariant(const arrow::Array& array, const DataType& wanted,
                                               const std::string& column) const;
  std::shared_ptr<arrow::Array> convertList(const arrow::Array& array, const DataType& wanted,
                                            const std::string& column) const;
  std::shared_ptr<arrow::Array> convertMap(const arrow::Array& array, const DataType& wanted,
                                           const std::string& column) const;
  std::shared_ptr<arrow::Array> toMicroseconds(const arrow::Array& array,
                                               const std::shared_ptr<arrow::DataType>& type,
                                               const std::string& column) const;
  std::shared_ptr<arrow::Array> asStoredInteger(const std::shared_ptr<arrow::Array>& array,
                                                const std::shared_ptr<arrow::DataType>& type) const;
  std::shared_ptr<arrow::Array> convertLeaf(const std::shared_ptr<arrow::Array>& array,
                                            const DataType& wanted, const std::string& column) const;
};

}  // namespace thalweg
