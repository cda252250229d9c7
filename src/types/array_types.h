// Arrays seen under another type of the same layout.
#pragma once

#include <memory>

#include <arrow/type_fwd.h>

namespace thalweg {

// The array under a type that differs only in field names, nullability, metadata or a timestamp's zone: no
// copy. Null where the layouts differ.
std::shared_ptr<arrow::ArrayData> retype(const std::shared_ptr<arrow::ArrayData>& data,
                                         const std::shared_ptr<arrow::DataType>& type);

}  // namespace thalweg
