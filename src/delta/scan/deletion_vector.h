// Deletion vectors: which rows of a data file no longer belong to the table.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/type_fwd.h>

#include "delta/actions/actions.h"
#include "storage/file_system.h"

namespace thalweg::delta {

// An immutable set of row positions; safe on any thread.
class DeletedRows {
 public:
  // From the serialised form (magic 1681511377, 64-bit portable roaring: count, then key and 32-bit bitmap
  // each). Throws Error DELTA_DELETION_VECTOR_INVALID for anything else, never crashes.
  static std::shared_ptr<const DeletedRows> parse(std::string_view blob);
  static std::shared_ptr<const DeletedRows> none();
  ~DeletedRows();

  // These rows and those, which are not negative and may be in it already.
  std::shared_ptr<const DeletedRows> with(std::span<const int64_t> rows) const;
  // These rows that are not among those.
  std::shared_ptr<const DeletedRows> without(const DeletedRows& rows) const;
  // The form that parse() reads.
  std::string serialize() const;

  int64_t cardinality() const;
  bool contains(int64_t row) const;
  // All of them, ascending.
  std::vector<int64_t> rows() const;
  // Of the rows [first, first + count): the positions, relative to first, of those that live; null where all
  // of them do.
  std::shared_ptr<arrow::Int64Array> liveRows(int64_t first, int64_t count) const;
  // The opposite: the positions, relative to first, of those that are in the set, ascending.
  std::vector<int64_t> rowsWithin(int64_t first, int64_t count) const;

 private:
  struct Bitmaps;
  explicit DeletedRows(std::unique_ptr<Bitmaps> bitmaps);
  std::unique_ptr<Bitmaps> bitmaps_;
};

// The name of the file with this id (16 bytes), below the table.
std::string deletionVectorFileName(std::string_view uuidBytes);

// Turns an absolute address of the log into a location, or throws where it is not allowed.
using AddressResolver = std::function<Location(std::string_view address)>;

// Reads the vector of a file of `table`: inline, from a file below the table, or from an absolute path.
// Throws Error DELTA_DELETION_VECTOR_{SIZE,CHECKSUM,CARDINALITY}_MISMATCH, DELTA_DELETION_VECTOR_INVALID, or
// the store's own.
std::shared_ptr<const DeletedRows> readDeletionVector(const Location& table, const DeletionVector& vector,
                                                      const AddressResolver& resolve);

}  // namespace thalweg::delta
