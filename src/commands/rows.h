// A few rows made by hand: the answers of statements.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "types/data_type.h"

namespace thalweg {

// Takes values column after column, row after row; a whole number of rows must have been given at finish.
// Long values also fill timestamps (microseconds).
class RowBuilder {
 public:
  explicit RowBuilder(SchemaPtr schema);
  ~RowBuilder();
  void addNull();
  void addBool(std::optional<bool> value);
  void addInt(std::optional<int32_t> value);
  void addLong(std::optional<int64_t> value);
  void addText(const std::optional<std::string>& value);
  void addTexts(const std::vector<std::string>& values);
  void addMap(const std::map<std::string, std::string>& values);
  void addMap(const std::map<std::string, std::optional<std::string>>& values);
  std::shared_ptr<arrow::RecordBatch> finish();

 private:
  arrow::ArrayBuilder* next();
  SchemaPtr schema_;
  std::vector<std::unique_ptr<arrow::ArrayBuilder>> builders_;
  size_t column_ = 0;
  int64_t numRows_ = 0;
};

}  // namespace thalweg
