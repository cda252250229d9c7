// ZIP archives small enough for memory: the .zip files of RocksDB snapshots, as Java's ZipOutputStream writes
// and reads them.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace thalweg {

// File names (no folders) to contents.
using ZipEntries = std::map<std::string, std::string, std::less<>>;

// Foreign bytes: throws Error STATE_STORE_CHECKPOINT_CORRUPT with a reason and no file name where they are no
// archive, a checksum does not match, or the contents are larger than maxBytes. Encrypted entries, ZIP64 and
// methods other than stored and deflated count as damage.
ZipEntries readZip(std::string_view archive, size_t maxBytes);

std::string writeZip(const ZipEntries& entries);

}  // namespace thalweg
