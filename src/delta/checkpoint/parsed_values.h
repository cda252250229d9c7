// An add's statistics and partition values as typed columns: stats_parsed and partitionValues_parsed.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/type_fwd.h>

#include "delta/actions/file_fields.h"
#include "types/data_type.h"

namespace thalweg::delta {

// Used by one thread.
class ParsedStatsWriter {
 public:
  // Appends to `builder`, which is of `type` and outlives this.
  ParsedStatsWriter(DataTypePtr type, arrow::StructBuilder& builder);
  ~ParsedStatsWriter();

  // A row: null where there are no statistics, or text that is no JSON object; fields that it does not have,
  // or has in another form, are null, which readers take as unknown.
  void append(std::optional<std::string_view> stats);

 private:
  struct Parser;

  DataTypePtr type_;
  arrow::StructBuilder& builder_;
  std::unique_ptr<Parser> parser_;
};

// Used by one thread.
class ParsedPartitionWriter {
 public:
  ParsedPartitionWriter(DataTypePtr type, arrow::StructBuilder& builder);
  ~ParsedPartitionWriter();

  // A row; texts that are no values of their column are null, as Spark's casts make them.
  void append(const FileFields& file);

 private:
  struct Column;

  arrow::StructBuilder& builder_;
  std::vector<Column> columns_;
};

}  // namespace thalweg::delta
