#include "exec/state/hot_and_cold.h"

#include <algorithm>
#include <vector>

#include "exec/state/in_blocks.h"

namespace thalweg {
namespace {

using Put = std::function<void(std::string_view key, std::string_view value)>;

// The keys in memory in their order, their values encoded a block at a time.
class HotEntries {
 public:
  HotEntries(const BinaryKeyTable& table, const std::function<void(std::span<const uint32_t>, BinaryRows*)>& encode)
      : table_(table), encode_(encode), numbers_(table.sortedNumbers()) {}
  bool hasNext() const { return next_ < numbers_.size(); }
  std::string_view nextKey() const { return table_.key(numbers_[next_]); }
  void putNext(const Put& put) {
    if (next_ == end_) {
      begin_ = next_;
      end_ = std::min(numbers_.size(), next_ + kBlockSize);
      values_.clear();
      encode_(std::span(numbers_).subspan(begin_, end_ - begin_), &values_);
    }
    put(nextKey(), values_[next_ - begin_]);
    ++next_;
  }

 private:
  const BinaryKeyTable& table_;
  const std::function<void(std::span<const uint32_t>, BinaryRows*)>& encode_;
  const std::vector<uint32_t> numbers_;
  size_t next_ = 0;
  size_t begin_ = 0, end_ = 0;  // of the block that is encoded
  BinaryRows values_;
};

}  // namespace

StateEntries hotAndCold(const BinaryKeyTable& hot, ColdPartition* cold,
                        std::function<void(std::span<const uint32_t> numbers, BinaryRows* values)> encode) {
  return [&hot, cold, encode = std::move(encode)](const Put& put) {
    HotEntries entries(hot, encode);
    if (cold != nullptr) {
      cold->forEach([&](std::string_view key, std::string_view value) {
        while (entries.hasNext() && entries.nextKey() < key) entries.putNext(put);
        put(key, value);
        return true;
      });
    }
    while (entries.hasNext()) entries.putNext(put);
  };
}

}  // namespace thalweg
