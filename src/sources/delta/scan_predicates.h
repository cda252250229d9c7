// A scan's predicates as the Delta library has them.
#pragma once

#include <vector>

#include "connector/table.h"
#include "delta/scan/file_skipping.h"
#include "delta/scan/table_layout.h"

namespace thalweg {

// Judges files of a table with this layout; predicates on columns that it does not have judge nothing.
delta::FileFilter fileFilter(const delta::TableLayout& layout, const std::vector<ScanPredicate>& predicates);

}  // namespace thalweg
