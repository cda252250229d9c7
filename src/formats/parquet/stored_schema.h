// The schema of files that are written: Spark's names and shapes, in Arrow's and in the Parquet library's
// terms.
#pragma once

#include <memory>

#include <arrow/type_fwd.h>

#include "types/data_type.h"

namespace parquet {
class WriterProperties;
namespace schema {
class GroupNode;
}
}  // namespace parquet

namespace thalweg {

// As toArrowSchema with every column nullable, lists and maps under the format's names, and field ids kept.
// Throws unsupported() for void, variant and interval columns.
std::shared_ptr<arrow::Schema> storedSchema(const Schema& schema);

// The library's schema under Spark's root name. Throws Error STORAGE_FAILURE naming `path`.
std::shared_ptr<parquet::schema::GroupNode> sparkRoot(const arrow::Schema& schema,
                                                      const parquet::WriterProperties& properties,
                                                      const std::string& path);

}  // namespace thalweg
