// What a read of a Delta table gives, and how its files become splits: the same for batch reads, streams and
// the change data feed.
#pragma once

#include <memory>
#include <vector>

#include "connector/read.h"
#include "delta/changes/change_feed.h"
#include "delta/scan/table_layout.h"
#include "delta/snapshot/snapshot.h"
#include "types/data_type.h"

namespace thalweg {

// Immutable, shared by the splits of a read.
struct DeltaScan {
  enum class Columns {
    Table,
    TableAndMetadata,  // then the hidden _metadata, unless the table has a column of that name
    Changes,           // then _change_type, _commit_version and _commit_timestamp
  };
  // `table` is the layout of `metadata`.
  static std::shared_ptr<const DeltaScan> make(const delta::TableLayoutPtr& table,
                                               const delta::Metadata& metadata, Columns columns);

  SchemaPtr schema;
  int visibleColumns = 0;
  int tableColumns = 0;
  bool changes = false;
  bool rowTracking = false;
  // The table's columns and after them those that its files may have besides, by their indexes; −1: none.
  delta::TableLayoutPtr layout;
  int storedChangeType = -1;

  int metadataColumn() const {
    return visibleColumns < static_cast<int>(schema->fields().size()) ? visibleColumns : -1;
  }
};
using DeltaScanPtr = std::shared_ptr<const DeltaScan>;

// Whole files in their order, small ones together: as many splits as there are cores where there are bytes
// for it (Spark's sizes: at most 128 MB and at least 4 MB a split, a file counting 4 MB more than it has).
std::vector<SplitPtr> splitDeltaFiles(const DeltaScanPtr& scan, std::vector<delta::ChangedFile> files);

// The columns of the change data feed, after the table's.
std::vector<StructField> changeColumns();

}  // namespace thalweg
