// Rows fitted to a table's columns on their way into it, as SQL's INSERT does: columns are put in their
// places, values cast to the columns' types, and what does not fit ends the statement.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "connector/sink.h"
#include "expr/batch_context.h"
#include "types/data_type.h"

namespace thalweg {

// Which column of the data becomes which column of the table. Columns that the data lacks are left out: the
// table's format fills them, or refuses.
struct ColumnAssignment {
  std::vector<int> source;  // a column of the data, per field of `written`
  SchemaPtr written;        // the fields that come out, of the table's names and types
  // Whether fields inside of columns go by their names too, and not by their places.
  bool nestedByName = false;
};

// By position: the first column into the table's first. Fields inside go by position too, but, as in Delta,
// by name where the data's columns have the table's names and differ from them by the order of such fields
// alone. Columns beyond the table's come out as they are where `addsColumns`. `table` names it in messages.
// Throws Error DELTA_INSERT_COLUMN_ARITY_MISMATCH where columns are missing, DELTA_METADATA_MISMATCH where
// there are too many.
ColumnAssignment assignByPosition(const Schema& columns, const Schema& data, const std::string& table,
                                  bool addsColumns = false);
// By name, ignoring case, fields inside too; the data's other columns come out as they are, at the end (new
// columns, if the format takes them).
ColumnAssignment assignByName(const Schema& columns, const Schema& data);
// By an INSERT's column list. Throws Error UNRESOLVED_COLUMN.WITH_SUGGESTION, COLUMN_ALREADY_EXISTS,
// INSERT_COLUMN_ARITY_MISMATCH.
ColumnAssignment assignToList(const Schema& columns, const Schema& data, const std::vector<std::string>& list,
                              const std::string& table);

// For a table whose schema the write may change: what is written gets the data's types where these are wider
// and the table can be widened to them by itself (delta/snapshot/type_widening.h), inside of columns too.
void takeWiderTypes(const Schema& data, ColumnAssignment* assignment);

// Hands rows of schema `data` on to `write`, which was begun for rows of `assignment.written`. Throws Error
// DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION at once for types that cannot be cast,
// DELTA_INSERT_COLUMN_ARITY_MISMATCH for fields inside that are missing by name, and while writing
// CAST_INVALID_INPUT or CAST_OVERFLOW_IN_TABLE_INSERT.
std::unique_ptr<BatchWrite> withStoreAssignment(std::unique_ptr<BatchWrite> write, SchemaPtr data,
                                                ColumnAssignment assignment, BatchContext context);

}  // namespace thalweg
