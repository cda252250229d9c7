// Struct columns of a checkpoint, row by row: typed access that treats a missing column as null.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <arrow/type_fwd.h>

namespace thalweg::delta {

// The value columns below throw Error DELTA_STATE_RECOVER_ERROR when made over another type. Null array: all
// rows null.
class TextColumn {
 public:
  explicit TextColumn(std::shared_ptr<arrow::Array> array, std::string_view name);
  std::optional<std::string> at(int64_t row) const;
  // As at, valid as long as the column's batch.
  std::optional<std::string_view> viewAt(int64_t row) const;

 private:
  std::shared_ptr<arrow::Array> array_;
};

class LongColumn {
 public:
  // int32 and int64 columns.
  explicit LongColumn(std::shared_ptr<arrow::Array> array, std::string_view name);
  std::optional<int64_t> at(int64_t row) const;

 private:
  std::shared_ptr<arrow::Array> array_;
};

class BoolColumn {
 public:
  explicit BoolColumn(std::shared_ptr<arrow::Array> array, std::string_view name);
  std::optional<bool> at(int64_t row) const;

 private:
  std::shared_ptr<arrow::Array> array_;
};

// map<string, string?>
class TextMapColumn {
 public:
  explicit TextMapColumn(std::shared_ptr<arrow::Array> array, std::string_view name);
  bool isNull(int64_t row) const;
  std::map<std::string, std::optional<std::string>> at(int64_t row) const;
  // As at, into an empty list, by rising keys; valid as long as the column's batch.
  void viewAt(int64_t row,
              std::vector<std::pair<std::string_view, std::optional<std::string_view>>>& entries) const;

 private:
  std::shared_ptr<arrow::Array> array_;
  std::optional<TextColumn> keys_;
  std::optional<TextColumn> values_;
};

// list<string>
class TextListColumn {
 public:
  explicit TextListColumn(std::shared_ptr<arrow::Array> array, std::string_view name);
  std::optional<std::vector<std::string>> at(int64_t row) const;

 private:
  std::shared_ptr<arrow::Array> array_;
  std::optional<TextColumn> values_;
};

// A struct and its members; a null array has no members and only null rows.
class StructColumn {
 public:
  StructColumn(std::shared_ptr<arrow::Array> array, std::string name);
  bool isNull(int64_t row) const;
  std::shared_ptr<arrow::Array> member(std::string_view name) const;  // null where there is none
  TextColumn text(std::string_view name) const { return TextColumn(member(name), name); }
  LongColumn number(std::string_view name) const { return LongColumn(member(name), name); }
  BoolColumn flag(std::string_view name) const { return BoolColumn(member(name), name); }
  TextMapColumn textMap(std::string_view name) const { return TextMapColumn(member(name), name); }
  TextListColumn textList(std::string_view name) const { return TextListColumn(member(name), name); }
  StructColumn structure(std::string_view name) const {
    return StructColumn(member(name), std::string(name));
  }

 private:
  std::shared_ptr<arrow::Array> array_;
};

}  // namespace thalweg::delta
