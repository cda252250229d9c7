// Nested columns as Parquet has them: each leaf column's definition and repetition levels, and where its
// values lie.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <arrow/type_fwd.h>

namespace thalweg {

// Positions in an array whose values are all there.
struct ValueRun {
  int64_t start = 0;
  int64_t count = 0;
};

// What some records give a leaf column.
struct LeafLevels {
  int64_t count = 0;                // of levels
  std::vector<int16_t> definition;  // empty: all at the column's highest
  std::vector<int16_t> repetition;  // empty: all 0
  std::vector<ValueRun> runs;       // the values, in order; as many as levels at the highest
};

// A column of a file as a tree: structs, lists (maps too: lists of key and value), leaves. Levels are those
// of the three-level lists that Spark writes. Remembers how many nulls it met.
class ColumnShape {
 public:
  // Called for each leaf below, in the order of the file's columns.
  using Leaf = std::function<void(int leaf, const LeafLevels& levels, const arrow::ArrayData& values)>;

  // `firstLeaf` is the number of the column's first leaf in the file.
  ColumnShape(const arrow::DataType& type, int firstLeaf);

  // `count` records of the array from `start` on.
  void split(const arrow::ArrayData& array, int64_t start, int64_t count, const Leaf& leaf);

  int numLeaves() const;
  // Nulls of the column so far: of a leaf or a list, members of null structs counted. Not counted for
  // structs, nor below lists.
  int64_t nullCount() const { return nullCount_; }
  bool isStruct() const { return kind_ == Kind::Struct; }
  bool isLeaf() const { return kind_ == Kind::Leaf; }
  int leaf() const { return firstLeaf_; }
  const std::vector<ColumnShape>& children() const { return children_; }

 private:
  enum class Kind { Leaf, Struct, List };
  struct Slots;

  ColumnShape(const arrow::DataType& type, bool nullable, int16_t definition, int16_t repetition,
              int firstLeaf);
  void splitSlots(const arrow::ArrayData& array, Slots slots, const Leaf& leaf);
  Slots withoutNulls(const arrow::ArrayData& array, Slots slots) const;
  Slots elements(const arrow::ArrayData& array, const Slots& slots);
  void finish(const arrow::ArrayData& array, const Slots& slots, const Leaf& leaf);

  Kind kind_ = Kind::Leaf;
  bool nullable_ = true;
  int16_t definition_ = 0;  // where the column itself is not null
  int16_t repetition_ = 0;  // of a list: where an element follows another one
  int firstLeaf_ = 0;
  int64_t nullCount_ = 0;
  std::vector<ColumnShape> children_;
};

// About how many bytes the records hold, those of texts exactly.
int64_t weightOf(const arrow::ArrayData& array, int64_t start, int64_t count);

}  // namespace thalweg
