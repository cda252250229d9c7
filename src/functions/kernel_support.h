// What kernels share: arguments as arrays, and the first selected row of several bad ones.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include <arrow/array.h>

#include "expr/call.h"

namespace thalweg {

// Argument i with one value a row, a scalar repeated.
std::shared_ptr<arrow::Array> argumentArray(const KernelContext& context, const arrow::Datum& argument);

template <typename Array>
std::shared_ptr<Array> argumentAs(const KernelContext& context, const arrow::Datum& argument) {
  return std::static_pointer_cast<Array>(argumentArray(context, argument));
}

// Of rows found bad (ascending), the first that is selected: its error is the batch's.
inline std::optional<int64_t> firstSelected(const std::vector<int64_t>& badRows, const Selection& selection) {
  if (badRows.empty()) return std::nullopt;
  if (selection.isAll()) return badRows.front();
  std::optional<int64_t> found;
  selection.forEach([&](int64_t row) {
    if (!found && std::binary_search(badRows.begin(), badRows.end(), row)) found = row;
  });
  return found;
}

// A call of a function whose result is null where any argument is, unless `nullable` says more.
ExpressionPtr makeCall(std::string name, std::vector<ExpressionPtr> arguments, DataTypePtr type, Kernel kernel, bool addsNulls = false,
                       std::function<std::string(const std::vector<std::string>&)> format = {});

// An infix operator's call, printed (a op b).
ExpressionPtr makeOperator(const std::string& symbol, ExpressionPtr left, ExpressionPtr right, DataTypePtr type, Kernel kernel,
                           bool addsNulls = false);

}  // namespace thalweg
