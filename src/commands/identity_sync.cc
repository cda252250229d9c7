#include "commands/identity_sync.h"

#include "common/error.h"
#include "delta/files/column_mapping.h"
#include "delta/files/row_rules.h"
#include "delta/scan/value_bounds.h"
#include "types/column_metadata.h"

namespace thalweg {

void syncIdentity(const delta::Snapshot& snapshot, StructField* field) {
  if (!delta::isIdentity(*field)) {
    throw Error("DELTA_IDENTITY_COLUMNS_ALTER_NON_IDENTITY_COLUMN",
                "The column " + field->name + " is no identity column.", {});
  }
  const int64_t step = metadataNumber(field->metadata, delta::kIdentityStep).value_or(1);
  const SchemaPtr physical =
      delta::physicalSchema(snapshot.schema(), delta::columnMappingMode(snapshot.metadata()));
  const auto index = static_cast<size_t>(snapshot.schema()->fieldIndex(field->name, /*caseSensitive=*/false));
  std::optional<int64_t> furthest;
  snapshot.files().forEachLive([&](const delta::FileRecord& record) {
    const delta::AddFile file = record.toAdd();
    const auto bounds = delta::StatisticsView(file.stats.value_or(""))
                            .boundsOf({physical->fields()[index].name}, *field->type);
    if (bounds.allNull()) return;
    const auto* value = std::get_if<int64_t>(step > 0 ? &bounds.max : &bounds.min);
    if (!value) throw unsupported("SYNC IDENTITY of a table with files without statistics of the column");
    if (!furthest || (step > 0 ? *value > *furthest : *value < *furthest)) furthest = *value;
  });
  const auto mark = furthest ? delta::identityMarkAfter(*field, *furthest) : std::nullopt;
  if (mark)
    field->metadata = withMetadataKey(field->metadata, delta::kIdentityHighWaterMark, std::to_string(*mark));
}

}  // namespace thalweg
