// Cutting a binary row (columnar/binary_row.h) in two and joining two into one, without decoding: state
// stores that are scanned by a prefix of the key keep prefix and rest as rows of their own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "types/data_type.h"

namespace thalweg {

// Rows of `types`, cut after the first `numPrefix` fields. Immutable; safe on any thread.
class BinaryRowSplitter {
 public:
  BinaryRowSplitter(std::vector<DataTypePtr> types, size_t numPrefix);

  // Appends the row of the first fields, or that of the others, to `out`. Throws Error
  // STATE_STORE_KEY_ROW_FORMAT_VALIDATION_FAILURE where `row` is no row of the types.
  void appendPrefix(std::string_view row, std::string* out) const;
  void appendRest(std::string_view row, std::string* out) const;
  // Appends the whole row that has these two parts.
  void appendJoined(std::string_view prefix, std::string_view rest, std::string* out) const;

 private:
  std::vector<DataTypePtr> types_;
  size_t numPrefix_;
};

}  // namespace thalweg
