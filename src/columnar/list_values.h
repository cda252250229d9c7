// Lists and maps over just the values that they use.
#pragma once

#include <memory>

#include <arrow/type_fwd.h>

namespace thalweg {

// The same rows (a list or map array) without an offset, whose values are those of its rows alone: nothing before or after a
// slice, nothing that a null row hides. What is done to all values is then done to no foreign one. Copies no values unless a
// null row hides some.
std::shared_ptr<arrow::Array> withUsedValuesOnly(const std::shared_ptr<arrow::Array>& lists, arrow::MemoryPool* pool);

}  // namespace thalweg
