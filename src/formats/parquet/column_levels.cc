#include "formats/parquet/column_levels.h"

#include <arrow/array/data.h>
#include <arrow/type.h>
#include <arrow/util/bit_run_reader.h>
#include <arrow/util/bit_util.h>

namespace thalweg {
namespace {

constexpr int64_t kEnded = -1;  // the position of a slot that ended at a null or an empty list above

bool isValid(const arrow::ArrayData& array, int64_t i) {
  return !array.buffers[0] || arrow::bit_util::GetBit(array.buffers[0]->data(), array.offset + i);
}

bool hasNulls(const arrow::ArrayData& array, int64_t start, int64_t count) {
  if (!array.buffers[0] || array.null_count.load() == 0) return false;
  const auto run =
      arrow::internal::SetBitRunReader(array.buffers[0]->data(), array.offset + start, count).NextRun();
  return run.length != count;
}

}  // namespace

// Where the values of a level of the tree come from. Dense: all are there, one position after another. Else
// one entry a level: ended ones have the definition level at which they ended, the others have theirs at the
// leaf.
struct ColumnShape::Slots {
  int64_t first = 0;
  int64_t count = 0;
  bool dense = true;
  std::vector<int16_t> definition;
  std::vector<int16_t> repetition;  // empty: all 0
  std::vector<int64_t> position;

  int64_t positionOf(int64_t i) const { return dense ? first + i : position[static_cast<size_t>(i)]; }
  int16_t repetitionOf(int64_t i) const {
    return repetition.empty() ? int16_t{0} : repetition[static_cast<size_t>(i)];
  }
  void makeSparse() {
    if (!dense) return;
    dense = false;
    definition.assign(static_cast<size_t>(count), 0);
    position.resize(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) position[static_cast<size_t>(i)] = first + i;
  }
  void moveBy(int64_t offset) {
    if (offset == 0) return;
    first += offset;
    for (int64_t& at : position) at += at == kEnded ? 0 : offset;
  }
};

ColumnShape::ColumnShape(const arrow::DataType& type, int firstLeaf)
    : ColumnShape(type, true, 0, 0, firstLeaf) {}

ColumnShape::ColumnShape(const arrow::DataType& type, bool nullable, int16_t definition, int16_t repetition,
                         int firstLeaf)
    : nullable_(nullable),
      definition_(static_cast<int16_t>(definition + nullable)),
      repetition_(repetition),
      firstLeaf_(firstLeaf) {
  switch (type.id()) {
    case arrow::Type::STRUCT:
      kind_ = Kind::Struct;
      for (const auto& field : type.fields()) {
        children_.push_back(
            ColumnShape(*field->type(), field->nullable(), definition_, repetition_, firstLeaf));
        firstLeaf += children_.back().numLeaves();
      }
      break;
    case arrow::Type::LIST:
    case arrow::Type::MAP: {
      kind_ = Kind::List;
      ++repetition_;
      const auto element = static_cast<int16_t>(definition_ + 1);
      const auto& field = *type.field(0);
      children_.push_back(ColumnShape(*field.type(), field.nullable(), element, repetition_, firstLeaf));
      break;
    }
    default:
      break;
  }
}

int ColumnShape::numLeaves() const {
  if (kind_ == Kind::Leaf) return 1;
  int count = 0;
  for (const ColumnShape& child : children_) count += child.numLeaves();
  return count;
}

void ColumnShape::split(const arrow::ArrayData& array, int64_t start, int64_t count, const Leaf& leaf) {
  Slots records;
  records.first = start;
  records.count = count;
  splitSlots(array, std::move(records), leaf);
}

void ColumnShape::splitSlots(const arrow::ArrayData& array, Slots slots, const Leaf& leaf) {
  switch (kind_) {
    case Kind::Leaf:
      finish(array, slots, leaf);
      return;
    case Kind::Struct: {
      Slots members = withoutNulls(array, std::move(slots));
      members.moveBy(array.offset);
      for (size_t i = 0; i < children_.size(); ++i) {
        const bool last = i + 1 == children_.size();
        children_[i].splitSlots(*array.child_data[i], last ? std::move(members) : members, leaf);
      }
      return;
    }
    case Kind::List:
      children_[0].splitSlots(*array.child_data[0], elements(array, slots), leaf);
      return;
  }
}

ColumnShape::Slots ColumnShape::withoutNulls(const arrow::ArrayData& array, Slots slots) const {
  if (!nullable_ || !array.buffers[0]) return slots;
  if (slots.dense && !hasNulls(array, slots.first, slots.count)) return slots;
  slots.makeSparse();
  for (size_t i = 0; i < slots.position.size(); ++i) {
    if (slots.position[i] == kEnded || isValid(array, slots.position[i])) continue;
    slots.position[i] = kEnded;
    slots.definition[i] = static_cast<int16_t>(definition_ - 1);
  }
  return slots;
}

ColumnShape::Slots ColumnShape::elements(const arrow::ArrayData& array, const Slots& slots) {
  const auto* offsets = array.GetValues<int32_t>(1);
  Slots below;
  below.dense = false;
  const auto add = [&](int64_t position, int16_t definition, int16_t repetition) {
    below.position.push_back(position);
    below.definition.push_back(definition);
    below.repetition.push_back(repetition);
  };
  for (int64_t i = 0; i < slots.count; ++i) {
    const int64_t at = slots.positionOf(i);
    const int16_t repetition = slots.repetitionOf(i);
    if (at == kEnded) {
      add(kEnded, slots.definition[static_cast<size_t>(i)], repetition);
      ++nullCount_;
    } else if (!isValid(array, at)) {
      add(kEnded, static_cast<int16_t>(definition_ - 1), repetition);
      ++nullCount_;
    } else if (offsets[at] == offsets[at + 1]) {
      add(kEnded, definition_, repetition);
    } else {
      for (int64_t k = offsets[at]; k < offsets[at + 1]; ++k)
        add(k, 0, k == offsets[at] ? repetition : repetition_);
    }
  }
  below.count = static_cast<int64_t>(below.position.size());
  return below;
}

void ColumnShape::finish(const arrow::ArrayData& array, const Slots& slots, const Leaf& leaf) {
  LeafLevels levels;
  levels.count = slots.count;
  const bool nulls = nullable_ && array.buffers[0];
  if (slots.dense) {
    if (!nulls || !hasNulls(array, slots.first, slots.count)) {
      if (slots.count > 0) levels.runs.push_back({slots.first, slots.count});
      leaf(firstLeaf_, levels, array);
      return;
    }
    levels.definition.assign(static_cast<size_t>(slots.count), static_cast<int16_t>(definition_ - 1));
    int64_t present = 0;
    arrow::internal::VisitSetBitRunsVoid(array.buffers[0]->data(), array.offset + slots.first, slots.count,
                                         [&](int64_t start, int64_t count) {
                                           levels.runs.push_back({slots.first + start, count});
                                           std::fill_n(levels.definition.begin() + start, count, definition_);
                                           present += count;
                                         });
    nullCount_ += slots.count - present;
    leaf(firstLeaf_, levels, array);
    return;
  }
  levels.definition = slots.definition;
  levels.repetition = slots.repetition;
  for (size_t i = 0; i < slots.position.size(); ++i) {
    const int64_t at = slots.position[i];
    if (at == kEnded) {
      ++nullCount_;
    } else if (nulls && !isValid(array, at)) {
      levels.definition[i] = static_cast<int16_t>(definition_ - 1);
      ++nullCount_;
    } else {
      levels.definition[i] = definition_;
      if (!levels.runs.empty() && levels.runs.back().start + levels.runs.back().count == at) {
        ++levels.runs.back().count;
      } else {
        levels.runs.push_back({at, 1});
      }
    }
  }
  leaf(firstLeaf_, levels, array);
}

int64_t weightOf(const arrow::ArrayData& array, int64_t start, int64_t count) {
  constexpr int64_t kFixedBytes = 8;
  switch (array.type->id()) {
    case arrow::Type::STRING:
    case arrow::Type::BINARY: {
      const auto* offsets = array.GetValues<int32_t>(1);
      return kFixedBytes * count + (offsets ? int64_t{offsets[start + count]} - offsets[start] : 0);
    }
    case arrow::Type::STRUCT: {
      int64_t weight = 0;
      for (const auto& child : array.child_data) weight += weightOf(*child, array.offset + start, count);
      return weight;
    }
    case arrow::Type::LIST:
    case arrow::Type::MAP: {
      const auto* offsets = array.GetValues<int32_t>(1);
      if (!offsets) return kFixedBytes * count;
      return kFixedBytes * count +
             weightOf(*array.child_data[0], offsets[start], int64_t{offsets[start + count]} - offsets[start]);
    }
    default:
      return kFixedBytes * count;
  }
}

}  // namespace thalweg
