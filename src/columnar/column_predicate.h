// What a condition says of rows by their columns' bounds alone: with it, files are left out unread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

namespace thalweg {

// column <op> literal, by name (any case) of a top-level column; or, as AnyOf, one of several lists of which all must hold.
// Of a list of predicates all hold. A hint only: rows that satisfy it may still fail the condition that it was made of.
struct ColumnPredicate {
  enum class Op { Equal, Less, LessOrEqual, Greater, GreaterOrEqual, IsNull, IsNotNull, AnyOf };
  std::string column = {};
  Op op = Op::Equal;
  std::shared_ptr<arrow::Scalar> literal = {};  // of comparisons
  std::vector<std::vector<ColumnPredicate>> alternatives = {};  // of AnyOf
};

}  // namespace thalweg
