// The keys that a batch changes, and which data files cannot hold any of them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "delta/actions/actions.h"
#include "delta/scan/table_layout.h"
#include "delta/scan/value_bounds.h"
#include "delta/upsert/key_hasher.h"

namespace thalweg::delta {

// A single value within a key that statistics or partition values may bound: a key column, or a member of a
// struct (a window's start).
struct KeyLeaf {
  int keyColumn = 0;         // its place among the key columns
  std::vector<int> members;  // the way down from there
  std::vector<std::string> physicalPath;
  std::string name;  // of the column
  DataTypePtr type;
  bool isPartitionColumn = false;
  TimeZone timeZone = {};  // the layout's
};

// `keyColumns` are indexes into the layout's schema.
std::vector<KeyLeaf> keyLeaves(const TableLayout& layout, const std::vector<int>& keyColumns);

// What the log says of each leaf's values in a file.
std::vector<ValueBounds> leafBounds(const std::vector<KeyLeaf>& leaves, const AddFile& file);

// Filled by one thread, then merged and finished. Memory: 16 bytes a key, and some thousand values a leaf at
// most.
class ChangedKeys {
 public:
  explicit ChangedKeys(std::vector<KeyLeaf> leaves);

  // Rows of key columns, and their hashes.
  void add(const std::vector<std::shared_ptr<arrow::Array>>& keyColumns, std::span<const KeyHash> hashes);
  void merge(ChangedKeys other);
  // After the last key. Throws internalError where a key came twice: which of its rows is to stay is not
  // known.
  void finish();

  // Ascending after finish().
  const std::vector<KeyHash>& hashes() const { return hashes_; }
  // After finish(): false only where a file with these bounds (one a leaf) holds none of the keys.
  bool mayBeIn(std::span<const ValueBounds> bounds) const;

 private:
  // The values of one leaf: all of them, or, when they are many, the least and the greatest.
  struct Values {
    bool hasNull = false;
    bool hasUnordered = false;  // a value whose place in the order is not known: any file may hold it
    bool isRange = false;
    std::vector<OrderedValue> values;

    void add(OrderedValue value);
    void compact();
    bool mayBeIn(const ValueBounds& bounds) const;
  };

  std::vector<KeyLeaf> leaves_;
  std::vector<Values> values_;  // one a leaf
  std::vector<KeyHash> hashes_;
};

}  // namespace thalweg::delta
