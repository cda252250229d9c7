// The schema file of a store, <partition 0>/[store/]_metadata/schema, and what Spark lets change between
// starts.
//
// Version 2: Java UTF "v2", then for key and value: number of pieces (4 bytes, big-endian), the pieces of the
// schema's JSON as Java UTF (modified UTF-8, length in two bytes). Version 1: "v1" and both schemas as one
// Java UTF each.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "state/state_store_id.h"
#include "storage/file_system.h"
#include "types/data_type.h"

namespace thalweg {

struct StateSchema {
  SchemaPtr key;
  SchemaPtr value;
};

// Foreign bytes: throws Error STATE_STORE_CHECKPOINT_CORRUPT naming `path`, and Error UNSUPPORTED_FEATURE for
// version 3 (column families).
StateSchema parseStateSchema(std::string_view bytes, const std::string& path);
// Version 2.
std::string formatStateSchema(const StateSchema& schema);

// The schema file is partition 0's, whatever partition `id` names. None where there is no file.
std::optional<StateSchema> readStateSchema(FileSystem& fileSystem, const StateStoreId& id);
void writeStateSchema(FileSystem& fileSystem, const StateStoreId& id, const StateSchema& schema);

// Throws Error STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE or STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE unless
// `stored` state can be gone on with under the schemas `current`: as many fields of the same types at every
// level, none nullable that was not. Names do not count. Values of deduplication are not checked by Spark:
// ValueCheck::Skip. Those of joins of streams are as nullable as Spark's plan of the day says, which leaves
// out rows with nulls that have no partner, as ours does: ValueCheck::TypesOnly.
enum class ValueCheck { Types, TypesOnly, Skip };
void checkStateSchema(const StateSchema& stored, const StateSchema& current,
                      ValueCheck valueCheck = ValueCheck::Types);

}  // namespace thalweg
