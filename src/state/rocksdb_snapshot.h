// A RocksDB snapshot as Spark's provider lays it out: V.zip with MANIFEST, CURRENT, OPTIONS and `metadata`,
// which says under which name each data file lies in SSTs/.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "storage/file_system.h"

namespace thalweg {

struct SnapshotMetadata {
  struct DataFile {
    std::string localName;   // "000008.sst", as the MANIFEST has it
    std::string storedName;  // "000008-<uuid>.sst", below SSTs/
    int64_t sizeBytes = 0;
  };
  std::vector<DataFile> dataFiles;
  int64_t numKeys = 0;  // −1: not counted
};

// The file `metadata`: a line "v1", then JSON. Foreign bytes: throws Error STATE_STORE_CHECKPOINT_CORRUPT
// with a reason, also where a name leads out of its folder or a local name is given twice;
// UNSUPPORTED_FEATURE where there are column families or write-ahead logs.
SnapshotMetadata parseSnapshotMetadata(std::string_view text);
std::string formatSnapshotMetadata(const SnapshotMetadata& metadata);

// Reads the metadata of a zip file. Throws as parseSnapshotMetadata.
SnapshotMetadata readSnapshotMetadata(FileSystem& fileSystem, const std::string& zipPath);

// Lays a snapshot's files out in `target` (an existing folder of local disk) so that RocksDB can open it.
// Data files of local disk are linked to, not copied: open it for reading only. Nothing that is in `target`
// already is written to. Throws Error STATE_STORE_CHECKPOINT_CORRUPT with a reason.
void unpackSnapshot(FileSystem& fileSystem, const std::string& storeFolder, const std::string& zipPath,
                    const std::string& target);

// The other way: puts the data files of `source`, a checkpoint of a SortedStore, durably below SSTs/ under
// new names and returns the contents of the zip file. Throws Error STORAGE_FAILURE, also where a file of
// `source` cannot be read whole.
std::string packSnapshot(FileSystem& fileSystem, const std::string& storeFolder, const std::string& source,
                         int64_t numKeys);

}  // namespace thalweg
