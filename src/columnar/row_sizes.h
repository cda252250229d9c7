// How large rows are in memory: what bounds the work on several of them at once.
#pragma once

#include <cstdint>
#include <vector>

#include <arrow/type_fwd.h>

namespace thalweg {

// Bytes of each row. Texts and binaries count as they are, also where one is much larger than the others; nested columns count
// by their average.
std::vector<int64_t> rowSizes(const arrow::RecordBatch& batch);

}  // namespace thalweg
