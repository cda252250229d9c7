// The keys of one partition of an operator's state: numbered in memory while there is room for them, in the
// cold tier beyond it; and the times when they end.
//
// A key is in one of the two places, with all that the state has of it: a group's running values, the
// sessions of a key, both sides' rows of a join. It leaves memory at the end of a batch, when what the keys
// take is more than the room: those first that were not used since a clock's hand came by. It comes back when
// it is asked for, or for its end.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "columnar/binary_key_table.h"
#include "exec/state/byte_strings.h"
#include "exec/state/expiry_panes.h"
#include "state/cold_tier.h"

namespace thalweg {

// How much memory the keys of a partition may take.
struct StateRoom {
  int64_t bytes = INT64_MAX;
  // While a version is loaded: less is not worth a visit to the disk.
  int64_t leastLoaded = 1 << 20;
};

// What an operator keeps of each key, by the key's number: its columns are as long as the numbers go.
// StateKeys says which keys change places; the values go with them.
class KeyedValues {
 public:
  virtual ~KeyedValues() = default;
  // What those of the keys in memory take there, about. Asked for once a batch: it must not look at each.
  virtual int64_t liveBytes() const = 0;
  // Appends the value of each of the keys to `values`, in a form that moveIn understands, and empties the
  // numbers. ends[i] is the end of numbers[i] as it was set; what is written there goes with the key.
  virtual void moveOut(std::span<const uint32_t> numbers, ByteStrings* values, std::span<int64_t> ends) = 0;
  // Gives numbers, which are empty and may be new, what moveOut or the files had of their keys. Ends are set
  // with it where the numbers have none yet.
  virtual void moveIn(std::span<const uint32_t> numbers, std::span<const std::string_view> values,
                      std::span<const int64_t> ends) = 0;
  // The key numbers[i] is i from now on, and there are no other ones: columns shrink.
  virtual void renumber(std::span<const uint32_t> numbers) = 0;
};

// Used by one thread, but isCold(). Numbers are those of `table()`.
class StateKeys {
 public:
  static constexpr int64_t kNever = INT64_MAX;  // the end of a key without one

  // The values outlive it.
  explicit StateKeys(KeyedValues& values) : values_(values) {}

  // Before the first key. Without it there is room for all.
  void setRoom(ColdPartition* cold, StateRoom room);
  const StateRoom& room() const { return room_; }
  void clear();
  // Keys in memory alone.
  void forgetHot();

  // In memory.
  const BinaryKeyTable& table() const { return table_; }
  ColdPartition* cold() const { return cold_; }
  int64_t numCold() const { return cold_ == nullptr ? 0 : cold_->numKeys(); }
  int64_t numKeys() const { return table_.size() + numCold(); }
  int64_t memoryBytes() const;

  // As the table's; new keys have their values back where they were cold.
  void findOrAdd(std::span<const std::string_view> keys, std::vector<uint32_t>* numbers,
                 std::vector<uint32_t>* added);
  // The same for keys that are not in the cold tier.
  void findOrAddHot(std::span<const std::string_view> keys, std::vector<uint32_t>* numbers,
                    std::vector<uint32_t>* added);
  uint32_t findOrAddHot(std::string_view key, bool* added);
  // Any number of threads at once, while nobody changes the keys.
  bool isCold(std::string_view key) const { return numCold() > 0 && cold_->contains(key); }
  // The key's view ends. Its values are the caller's affair.
  void remove(uint32_t number);
  // The key stays in memory for another round of the clock.
  void use(uint32_t number) { isUsed_[number] = 1; }

  // An end that a key has already may be put off, or come earlier.
  void setEnd(uint32_t number, int64_t endMicros);
  int64_t end(uint32_t number) const { return ends_[number]; }
  // Keys in memory whose end is not after the watermark. They have no end from now on: what stays has it set
  // again. What this costs follows from how many there are, not from how many are kept.
  std::vector<uint32_t> takeEnded(int64_t watermarkMicros);
  // The same of cold keys: they come into memory block by block, and `visit` removes those that are not to
  // stay there.
  void takeEndedCold(int64_t watermarkMicros,
                     const std::function<void(std::span<const uint32_t> numbers)>& visit);
  // The same where nobody wants their values: they go where they are.
  void removeEndedCold(int64_t watermarkMicros, const std::function<void(std::string_view key)>& visit);
  // Brings cold keys into memory.
  void moveIn(const std::vector<std::string>& keys, std::vector<uint32_t>* numbers);

  // At the end of a batch: keys beyond the room go to the cold tier, and memory that keys have left goes
  // back. Numbers change.
  void settle();
  // Puts a key where there is no room for it, while a version is loaded. It must not be there yet.
  void addCold(std::string_view key, std::string_view value, int64_t endMicros);
  void flushCold();

 private:
  int64_t bytes() const;
  void resize();
  void warmUp(std::span<const std::string_view> keys, std::span<const uint32_t> numbers,
              std::span<const uint32_t> added);
  void coolDown();
  std::vector<uint32_t> longestUnused(int64_t bytes);
  void moveOut(std::span<const uint32_t> numbers);
  void renumber();
  void rebuildPanes();

  KeyedValues& values_;
  BinaryKeyTable table_;
  std::vector<int64_t> ends_;  // by number; kNever also where there is no key
  // Numbers by the ends that they have or had: an entry counts where `ends_` agrees.
  ExpiryPanes panes_;
  std::vector<uint8_t> isUsed_;  // since the clock's hand came by
  ColdPartition* cold_ = nullptr;
  StateRoom room_;
  uint32_t hand_ = 0;
  ByteStrings moving_;
};

}  // namespace thalweg
