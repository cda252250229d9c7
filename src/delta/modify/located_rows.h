// Some rows of one data file.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "delta/actions/actions.h"
#include "delta/scan/deletion_vector.h"

namespace thalweg::delta {

// Rows of one live file that an operation is about.
struct LocatedRows {
  AddFile file;
  std::vector<int64_t> rows;  // positions in the file, ascending, none of them deleted; not empty
  std::shared_ptr<const DeletedRows> deleted;  // of the file's vector
  int64_t numRows = 0;                         // in the file, deleted ones too
};

}  // namespace thalweg::delta
