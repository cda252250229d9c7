// Adds or removes as rows of a struct column, without a value in between.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include <arrow/type_fwd.h>

#include "delta/actions/file_fields.h"
#include "delta/checkpoint/checkpoint_columns.h"
#include "delta/checkpoint/parsed_values.h"

namespace thalweg::delta {

// Used by one thread.
class AddRows {
 public:
  explicit AddRows(const CheckpointColumns& columns);
  ~AddRows();
  void append(const FileFields& add);
  int64_t length() const;
  // The rows since the last call.
  std::shared_ptr<arrow::Array> take();

 private:
  bool statsAsJson_;
  std::unique_ptr<arrow::ArrayBuilder> rows_;
  std::optional<ParsedPartitionWriter> partitionValues_;
  std::optional<ParsedStatsWriter> stats_;
};

// Used by one thread.
class RemoveRows {
 public:
  RemoveRows();
  ~RemoveRows();
  void append(const FileFields& remove);
  int64_t length() const;
  std::shared_ptr<arrow::Array> take();

 private:
  std::unique_ptr<arrow::ArrayBuilder> rows_;
};

}  // namespace thalweg::delta
