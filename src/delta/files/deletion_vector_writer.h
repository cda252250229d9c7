// Gives the deletion vectors of one commit their place.
#pragma once

#include <string>

#include "delta/actions/actions.h"
#include "delta/scan/deletion_vector.h"
#include "storage/file_system.h"

namespace thalweg::delta {

// The descriptor that holds the vector itself.
DeletionVector inlineDeletionVector(const DeletedRows& rows);

// Small vectors go into the log itself, base-85 text in their add actions, which costs no file and no fsync;
// the others together into one file of the table, deletion_vector_<uuid>.bin: a version byte, then for each
// its size (4 bytes, big endian), its bytes and their CRC-32 (4 bytes, big endian). Used by one thread.
// Passes the fault points DeletionVectorBefore (nothing written) and DeletionVectorAfter (durable, not
// committed).
class DeletionVectorWriter {
 public:
  explicit DeletionVectorWriter(Location table);

  // The descriptor for the log. Good to be committed after close().
  DeletionVector add(const DeletedRows& rows);
  // Makes the file durable, where a vector needs one.
  void close();
  // Removes the file: for vectors that no commit names.
  void discard() noexcept;

 private:
  Location table_;
  std::string uuid_;  // 16 bytes
  std::string file_;  // its contents; empty where no vector needs it
  size_t inlineBytes_ = 0;
  bool written_ = false;
};

}  // namespace thalweg::delta
