// Gives the deletion vectors of one commit their place.
#pragma once

#include <string>

#include "delta/actions/actions.h"
#include "delta/scan/deletion_vector.h"
#include "storage/file_system.h"

namespace thalweg::delta {

// The descriptor that holds the vector itself, for use in memory: tables are not given such ones. Delta
// allows them, but Spark's VACUUM (Delta 4.4) ends at the first that it meets, and Trino and Presto refuse to
// read them.
DeletionVector inlineDeletionVector(const DeletedRows& rows);

// All go into one file of the table, deletion_vector_<uuid>.bin, in a folder of its own where the table's
// files lie in random ones: a version byte, then for each its size (4 bytes, big endian), its bytes and their
// CRC-32 (4 bytes, big endian). Used by one thread. Passes the fault points DeletionVectorBefore (nothing
// written) and DeletionVectorAfter (durable, not committed).
class DeletionVectorWriter {
 public:
  DeletionVectorWriter(Location table, const Metadata& metadata);

  // The descriptor for the log. Good to be committed after close().
  DeletionVector add(const DeletedRows& rows);
  // Makes the file durable, where there are vectors.
  void close();
  // Removes the file: for vectors that no commit names.
  void discard() noexcept;

 private:
  std::string path() const;

  Location table_;
  std::string folder_;  // empty: the table's own
  std::string uuid_;    // 16 bytes
  std::string file_;    // its contents
  bool written_ = false;
};

}  // namespace thalweg::delta
