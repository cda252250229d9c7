// Which rows of a table an operation is about.
#pragma once

#include <cstdint>
#include <vector>

#include "delta/actions/actions.h"
#include "delta/modify/file_rows.h"

namespace thalweg::delta {

class RowCondition {
 public:
  virtual ~RowCondition() = default;
  // False only where no row of the file matches. By one thread at a time.
  virtual bool mayMatch(const AddFile& file) = 0;
  // True where files match whole or not at all, as mayMatch says.
  virtual bool partitionsOnly() const = 0;
  // What match() looks at: indexes into the table's schema, ascending.
  virtual const std::vector<int>& columns() const = 0;
  // The positions in `part.rows` (of those columns), ascending and among its live rows, of rows that match.
  // Any thread.
  virtual std::vector<int64_t> match(const FileRows& part) const = 0;
};

}  // namespace thalweg::delta
