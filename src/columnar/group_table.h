// Numbers the distinct keys of rows: the hash table behind grouping and deduplication.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/type_fwd.h>

#include "columnar/key_encoder.h"

namespace thalweg {

// Open addressing over 64-bit hashes; keys lie encoded in one arena, and decoded, first seen, in a builder a column.
// Used by one thread.
class GroupTable {
 public:
  // `keepKeys` false: keys are not kept decoded, and finishKeys() gives none.
  GroupTable(std::vector<DataTypePtr> keyTypes, arrow::MemoryPool* pool, bool keepKeys = true);
  ~GroupTable();

  // groups[i] = the number of the key of the i-th of `rows`, new keys numbered in order of appearance.
  void assign(const std::vector<std::shared_ptr<arrow::Array>>& keys, const std::vector<int32_t>& rows,
              std::vector<uint32_t>* groups);
  // As assign, without adding: kNoGroup where the key is new. Any number of threads at once, while none assigns.
  void find(const std::vector<std::shared_ptr<arrow::Array>>& keys, const std::vector<int32_t>& rows,
            std::vector<uint32_t>* groups) const;
  static constexpr uint32_t kNoGroup = UINT32_MAX;
  int64_t numGroups() const { return static_cast<int64_t>(offsets_.size()) - 1; }
  // The key columns, one row a group. Leaves the table without its decoded keys: the last call.
  std::vector<std::shared_ptr<arrow::Array>> finishKeys();

 private:
  struct Slot {
    uint64_t hash;
    uint32_t group;
  };
  uint32_t findOrAdd(std::string_view key, bool* added);
  std::string_view keyOf(uint32_t group) const;
  void grow();

  KeyEncoder encoder_;
  std::vector<Slot> slots_;  // group kEmpty where free; a power of two
  std::string arena_;
  std::vector<size_t> offsets_;  // of keys in the arena, one more than groups
  std::vector<std::unique_ptr<arrow::ArrayBuilder>> builders_;
};

}  // namespace thalweg
