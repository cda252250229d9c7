// A file made of other files' live rows, while the table goes on: rows that others delete meanwhile are
// deleted in it too.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "delta/actions/actions.h"
#include "delta/files/file_rewrite.h"
#include "delta/scan/deletion_vector.h"
#include "delta/scan/table_layout.h"
#include "delta/snapshot/snapshot.h"

namespace thalweg::delta {

// Live files by path, as a version has them.
using LiveFiles = std::map<std::string, AddFile>;

class MergedFile {
 public:
  // Merges the files, which are `snapshot`'s and of one partition, on the caller's thread. Throws as
  // FileRewrite::merge.
  MergedFile(std::vector<AddFile> inputs, TableLayoutPtr layout, FileRewrite& rewrite);

  const std::vector<AddFile>& inputs() const { return inputs_; }

  // The result over a later version.
  struct Carried {
    std::vector<AddFile> removed;                // the inputs as they are now
    std::optional<AddFile> output;               // nothing where every row is deleted
    std::shared_ptr<const DeletedRows> deleted;  // in the output; null where all of its rows live
  };
  // Nothing where it cannot be carried over: an input is gone, or rows of it came back.
  std::optional<Carried> carry(const LiveFiles& live) const;

 private:
  std::shared_ptr<const DeletedRows> vectorOf(const AddFile& file) const;
  bool carryDeletes(const AddFile& before, const AddFile& now, int64_t firstRow,
                    std::vector<int64_t>* deleted) const;

  std::vector<AddFile> inputs_;
  TableLayoutPtr layout_;
  std::vector<int64_t> numRows_;  // that each input gave
  std::optional<AddFile> output_;
};

}  // namespace thalweg::delta
