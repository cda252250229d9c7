// The change data files of an upsert: what delta.enableChangeDataFeed promises to readers of a table's
// changes.
#pragma once

#include <set>
#include <vector>

#include "delta/actions/actions.h"
#include "delta/files/data_file_writer.h"
#include "delta/modify/change_writer.h"
#include "delta/modify/located_rows.h"
#include "delta/scan/table_layout.h"
#include "delta/upsert/key_hasher.h"

namespace thalweg::delta {

// The earlier rows that leave the table as update_preimage (a second row of one key as delete), the new ones
// as update_postimage, or insert where the key had no row. The files are taken away again unless handed over.
// Used by one thread.
class ChangeFiles {
 public:
  // `reading` and `writing` are of the table as the commit leaves it; `keyColumns` are indexes into its
  // schema. Both layouts and the hasher must outlive this.
  ChangeFiles(TableLayoutPtr reading, const DataFileLayout& writing, std::vector<int> keyColumns,
              const KeyHasher& hasher);
  ~ChangeFiles();
  ChangeFiles(const ChangeFiles&) = delete;
  ChangeFiles& operator=(const ChangeFiles&) = delete;

  // Reads the earlier rows and `files`, the batch's own, and writes the changes: durable on return.
  void write(const std::vector<LocatedRows>& earlier, const std::vector<AddFile>& files);

  std::vector<Action> actions() const;
  void handOver() { handedOver_ = true; }
  // For files that are certainly in no commit.
  void discard() noexcept;

 private:
  enum class Side { Earlier, New };
  void writeRows(const AddFile& file, Side side, ChangeWriter& writer);

  TableLayoutPtr reading_;
  const DataFileLayout& writing_;
  std::vector<int> keyColumns_;
  const KeyHasher& hasher_;
  std::set<KeyHash> replaced_;  // keys that had a row
  std::vector<AddFile> written_;
  bool handedOver_ = false;
};

}  // namespace thalweg::delta
