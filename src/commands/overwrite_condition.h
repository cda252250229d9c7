// What writeTo(table).overwrite(condition) replaces.
#pragma once

#include <memory>
#include <optional>

#include "commands/command_session.h"
#include "commands/table_target.h"

namespace thalweg {

// The rows of `target` that satisfy the condition; nullopt: all of them. Its text is Spark's, so that the
// table's history reads alike: comparisons of columns with constants, nulls, AND, OR and NOT. Throws Error
// _LEGACY_ERROR_TEMP_2245 for a condition of other things, _LEGACY_ERROR_TEMP_1109 for what is no condition,
// and those of a condition (plan/analyze/row_changes.h).
std::optional<ReplacedRows> replacedRows(std::shared_ptr<const spark::connect::Expression> condition,
                                         const TableTarget& target, const Schema& columns,
                                         CommandSession& session);

// Whether the condition chose no row at all: then nothing is replaced.
bool replacesNothing(const ReplacedRows& rows);

}  // namespace thalweg
