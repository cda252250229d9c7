// Tables that track rows (delta.enableRowTracking): a row's id and the version that changed it last stay with
// it when it moves to another file.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <arrow/type_fwd.h>

#include "delta/actions/actions.h"
#include "delta/files/data_file_writer.h"

namespace thalweg::delta {

// Columns of data files that no schema of the table names: they hold what moved rows bring along. Where a
// file lacks them, or has null, a row's id is the file's baseRowId and the row's place, its version the
// file's defaultRowCommitVersion.
struct RowIdColumns {
  std::string rowId;
  std::string rowCommitVersion;
};

// The columns of a table that tracks rows. Nothing for other tables, for one that names none, and where a
// column of the table itself is stored under such a name.
std::optional<RowIdColumns> rowIdColumns(const Metadata& metadata);

// Names the columns where the metadata switches tracking on and has no names yet: to be called for every
// table that is made, or begins to track rows.
void nameRowIdColumns(Metadata* metadata);

// Properties of both names begin with it.
inline constexpr std::string_view kRowIdColumnsPrefix = "delta.rowTracking.materialized";

// Throws Error DELTA_ADDING_COLUMN_WITH_INTERNAL_NAME_FAILED where a column of the table would be stored
// under the name of one of them. `table` names the table in the text.
void checkRowIdColumns(const Metadata& metadata, std::string_view table);

// How files are written that rows of this table move into: with row ids where it tracks rows. Throws Error
// DELTA_MATERIALIZED_ROW_TRACKING_COLUMN_NAME_MISSING where it does and has no columns for them, and that of
// checkRowIdColumns.
DataFileLayout movedRowsLayout(Location table, const Metadata& metadata, const Protocol& protocol);

// What commits say by which rows moved with their ids, among their tags. None for tables that do not track
// rows.
std::vector<std::pair<std::string, std::string>> keptRowIdTags(const Metadata& metadata);

// Rows of such a layout without their ids.
std::shared_ptr<arrow::RecordBatch> withoutRowIds(const arrow::RecordBatch& rows);

// Rows that were made of `original` ones (with ids), each with its row's id. They have no version of their
// own: the commit's it is, which changes them.
std::shared_ptr<arrow::RecordBatch> withRowIdsOf(const arrow::RecordBatch& original,
                                                 const arrow::RecordBatch& changed);

}  // namespace thalweg::delta
