// Partition values: their text in the log, their folders, and back to typed values.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/type_fwd.h>

#include "delta/actions/actions.h"
#include "types/data_type.h"
#include "types/time_zone.h"

namespace thalweg::delta {

// The protocol's text of one value; null for null and for the empty string. Bytes that are not UTF-8 become
// U+FFFD, as in Spark: such values cannot be had back. Throws unsupported() for types
// that cannot partition a table (nested ones, intervals).
std::optional<std::string> partitionValueText(const arrow::Array& array, int64_t row, const DataType& type);

// The typed value of a text; an empty text is an empty string, or null for every other type. Writers of today
// log instants ("…Z"), those before 2024 wall clocks of their own zone without its name: these are of `zone`,
// the session's, as Spark reads them. Throws Error DELTA_STATE_RECOVER_ERROR naming column and text where it
// is not of the type.
std::shared_ptr<arrow::Scalar> parsePartitionValue(const std::optional<std::string>& text,
                                                   const DataType& type, std::string_view column,
                                                   const TimeZone& zone);

// The values as they would be written today. The log's own texts may be those of another writer, or of a type
// that a column had before it was widened: they are equal only where these are. `columns` are by the names
// of the values. Throws as parsePartitionValue.
PartitionValues canonicalPartitionValues(const PartitionValues& values,
                                         const std::vector<StructField>& columns, const TimeZone& zone);

// Hive's escaping of a name or value for a folder: controls, 7F and " # % ' * / : = ? \ { [ ] ^ as %XX, upper
// hex.
std::string escapeForFolder(std::string_view text);
std::string unescapeFolder(std::string_view text);

// "date=2026-01-01/action=view/" in the order of the columns, null as __HIVE_DEFAULT_PARTITION__; empty
// without columns. Not URI-encoded yet.
std::string partitionFolder(const std::vector<StructField>& columns, const PartitionValues& values);

}  // namespace thalweg::delta
