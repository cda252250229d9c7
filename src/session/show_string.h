// DataFrame.show(): rows as the text table that Spark draws.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "types/data_type.h"
#include "types/time_zone.h"

namespace thalweg {

// `batches` hold at most numRows + 1 rows: one more than drawn says that there are more. truncate > 0 cuts cells to so many
// characters and aligns them to the right; otherwise cells are whole and aligned to the left.
std::string drawTable(const Schema& schema, const std::vector<std::shared_ptr<arrow::RecordBatch>>& batches, int numRows,
                      int truncate, bool vertical, const TimeZone& zone);

}  // namespace thalweg
