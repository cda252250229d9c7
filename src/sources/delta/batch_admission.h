// How much one batch of a stream takes: files and bytes, counted as Delta counts them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace thalweg {

// Used by one thread, for one batch.
class BatchAdmission {
 public:
  BatchAdmission(int64_t maxFiles, int64_t maxBytes) : files_(maxFiles), bytes_(maxBytes) {}
  static BatchAdmission unlimited() {
    BatchAdmission all(INT64_MAX, INT64_MAX);
    all.unlimited_ = true;
    return all;
  }

  bool isUnlimited() const { return unlimited_; }
  bool hasCapacity() const { return unlimited_ || (files_ > 0 && bytes_ > 0); }

  // One file; sizes are not negative. It comes in while anything is left, so that one larger than the limit
  // does too.
  bool admitFile(int64_t bytes) {
    started_ = true;
    const bool admitted = hasCapacity();
    take(1, bytes);
    return admitted;
  }
  // A version's beginning or end: no file, but from now on the batch is not empty.
  void pass() { started_ = true; }
  // Files that cannot be parted: all or none, but all into an empty batch. `count` is what they count as.
  bool admitTogether(size_t count, int64_t bytes) {
    if (count == 0) return true;
    const auto files = static_cast<int64_t>(count);
    const bool admitted = unlimited_ || !started_ || (files_ >= files && bytes_ >= bytes);
    started_ = true;
    take(files, bytes);
    return admitted;
  }

 private:
  void take(int64_t files, int64_t bytes) {
    files_ = files_ < INT64_MIN + files ? INT64_MIN : files_ - files;
    bytes_ = bytes_ < INT64_MIN + bytes ? INT64_MIN : bytes_ - bytes;
  }

  int64_t files_;
  int64_t bytes_;
  bool started_ = false;
  bool unlimited_ = false;
};

}  // namespace thalweg
