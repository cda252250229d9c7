// collect_list and collect_set.
#include "functions/aggregate/accumulators.h"
#include "functions/aggregate/group_rows.h"

namespace thalweg {
namespace {

std::vector<int32_t> listSizes(const arrow::Array& column) {
  const auto& lists = static_cast<const arrow::ListArray&>(column);
  std::vector<int32_t> sizes;
  for (int64_t row = 0; row < lists.length(); ++row)
    sizes.push_back(lists.IsNull(row) ? 0 : lists.value_length(row));
  return sizes;
}

// Nulls are left out.
class CollectList final : public Aggregator {
 public:
  explicit CollectList(const DataTypePtr& type) : listType_(DataType::array(type, false)), rows_(type) {}
  void resize(int64_t numGroups) override { rows_.resize(numGroups); }

  void update(GroupsOfRows groups, const Arrays& arguments, const Selection& selection) override {
    const auto& values = arguments[0];
    const int64_t start = rows_.append(values);
    selection.forEach([&](int64_t row) {
      if (values->IsValid(row)) rows_.add(groups[static_cast<size_t>(row)], start + row);
    });
  }

  void merge(GroupsOfRows from, GroupsOfRows to, const Aggregator& other) override {
    std::vector<int32_t> counts;
    const auto values =
        static_cast<const CollectList&>(other).rows_.values(from, &counts, arrow::default_memory_pool());
    addLists(to, counts, values);
  }

  std::shared_ptr<arrow::Array> finish(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    return rows_.lists(groups, pool);
  }

  void reset(GroupsOfRows groups) override { rows_.reset(groups); }
  std::vector<StructField> bufferFields() const override { return {{"buf", binaryType(), true}}; }
  Arrays saveBuffers(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    return {encodeLists(listType_, rows_.lists(groups, pool), pool)};
  }
  Bytes bytes() const override { return rows_.bytes(); }
  void loadBuffers(GroupsOfRows groups, const Arrays& buffers) override {
    const auto column = decodeLists(listType_, *buffers[0]);
    addLists(groups, listSizes(*column),
             valueOrThrow(static_cast<const arrow::ListArray&>(*column).Flatten()));
  }

 private:
  // counts[i] of the values, which follow each other, go to groups[i].
  void addLists(GroupsOfRows groups, const std::vector<int32_t>& counts,
                const std::shared_ptr<arrow::Array>& values) {
    int64_t position = rows_.append(values);
    for (size_t i = 0; i < groups.size(); ++i) {
      for (int32_t k = 0; k < counts[i]; ++k) rows_.add(groups[i], position++);
    }
  }

  DataTypePtr listType_;
  GroupRows rows_;
};

// Each value once, in the order of their first arrival.
class CollectSet final : public Aggregator {
 public:
  explicit CollectSet(const DataTypePtr& type)
      : type_(type), listType_(DataType::array(type, false)), sets_(type) {}
  void resize(int64_t numGroups) override { sets_.resize(numGroups); }

  void update(GroupsOfRows groups, const Arrays& arguments, const Selection& selection) override {
    std::vector<int32_t> rows;
    selection.forEach([&](int64_t row) {
      if (arguments[0]->IsValid(row)) rows.push_back(static_cast<int32_t>(row));
    });
    sets_.add(groups, arguments[0], rows);
  }

  void merge(GroupsOfRows from, GroupsOfRows to, const Aggregator& other) override {
    const auto contents =
        static_cast<const CollectSet&>(other).sets_.contents(from, arrow::default_memory_pool());
    sets_.addLists(to, contents.sizes, contents.values);
  }

  std::shared_ptr<arrow::Array> finish(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    const auto contents = sets_.contents(groups, pool);
    return listColumn(type_, contents.sizes, contents.values, pool);
  }

  void reset(GroupsOfRows groups) override { sets_.reset(groups); }
  // Spark keeps binary values as arrays of bytes in a set's buffer.
  std::vector<StructField> bufferFields() const override {
    if (type_->id() == TypeId::Binary) return {};
    return {{"buf", binaryType(), true}};
  }
  Bytes bytes() const override { return sets_.bytes(); }
  Arrays saveBuffers(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    return {encodeLists(listType_, finish(groups, pool), pool)};
  }
  void loadBuffers(GroupsOfRows groups, const Arrays& buffers) override {
    const auto column = decodeLists(listType_, *buffers[0]);
    sets_.addLists(groups, listSizes(*column),
                   valueOrThrow(static_cast<const arrow::ListArray&>(*column).Flatten()));
  }

 private:
  DataTypePtr type_, listType_;
  GroupSets sets_;
};

}  // namespace

std::unique_ptr<Aggregator> makeCollect(const DataTypePtr& type, bool distinct) {
  if (distinct) return std::make_unique<CollectSet>(type);
  return std::make_unique<CollectList>(type);
}

}  // namespace thalweg
