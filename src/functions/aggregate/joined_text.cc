// listagg: strings one after the other, in the order of their arrival or of another value.
#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "columnar/key_encoder.h"
#include "functions/aggregate/accumulators.h"
#include "functions/aggregate/group_rows.h"

namespace thalweg {
namespace {

class JoinedText final : public Aggregator {
 public:
  JoinedText(const DataTypePtr& type, std::string delimiter, std::optional<TextOrder> order)
      : type_(type), listType_(DataType::array(type, false)), delimiter_(std::move(delimiter)), texts_(type) {
    if (!order) return;
    orders_.emplace(order->type);
    encoder_.emplace(std::vector<KeyColumn>{{order->type, order->ascending, order->nullsFirst}});
  }
  void resize(int64_t numGroups) override {
    texts_.resize(numGroups);
    if (orders_) orders_->resize(numGroups);
  }

  void update(GroupsOfRows groups, const Arrays& arguments, const Selection& selection) override {
    const int64_t start = texts_.append(arguments[0]);
    const int64_t orderStart = orders_ ? orders_->append(arguments[1]) : 0;
    selection.forEach([&](int64_t row) {
      if (arguments[0]->IsNull(row)) return;
      texts_.add(groups[static_cast<size_t>(row)], start + row);
      if (orders_) orders_->add(groups[static_cast<size_t>(row)], orderStart + row);
    });
  }

  void merge(GroupsOfRows from, GroupsOfRows to, const Aggregator& other) override {
    const auto& that = static_cast<const JoinedText&>(other);
    take(from, to, that.texts_, &texts_);
    if (orders_) take(from, to, *that.orders_, &*orders_);
  }

  std::shared_ptr<arrow::Array> finish(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    std::vector<int32_t> sizes, ignored;
    const auto texts = texts_.values(groups, &sizes, pool);
    const auto orders = orders_ ? orders_->values(groups, &ignored, pool) : nullptr;
    std::unique_ptr<arrow::ArrayBuilder> builder;
    throwIfFailed(arrow::MakeBuilder(pool, toArrowType(*type_), &builder));
    int64_t begin = 0;
    std::string joined;
    for (const int32_t size : sizes) {
      joined.clear();
      bool first = true;
      for (const int64_t row : ordered(orders, begin, begin + size)) {
        if (!std::exchange(first, false)) joined += delimiter_;
        joined += static_cast<const arrow::BinaryArray&>(*texts).GetView(row);
      }
      if (size == 0)
        throwIfFailed(builder->AppendNull());
      else
        throwIfFailed(static_cast<arrow::BinaryBuilder&>(*builder).Append(joined));
      begin += size;
    }
    return valueOrThrow(builder->Finish());
  }

  void reset(GroupsOfRows groups) override {
    texts_.reset(groups);
    if (orders_) orders_->reset(groups);
  }
  Bytes bytes() const override { return orders_ ? sumOf(texts_.bytes(), orders_->bytes()) : texts_.bytes(); }
  std::vector<StructField> bufferFields() const override {
    if (orders_) return {};
    return {{"buf", binaryType(), true}};
  }
  Arrays saveBuffers(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    return {encodeLists(listType_, texts_.lists(groups, pool), pool)};
  }
  void loadBuffers(GroupsOfRows groups, const Arrays& buffers) override {
    const auto column = decodeLists(listType_, *buffers[0]);
    const auto& lists = static_cast<const arrow::ListArray&>(*column);
    std::vector<int32_t> sizes;
    for (int64_t row = 0; row < lists.length(); ++row)
      sizes.push_back(lists.IsNull(row) ? 0 : lists.value_length(row));
    addAll(groups, sizes, valueOrThrow(lists.Flatten()), &texts_);
  }

 private:
  static void addAll(GroupsOfRows to, const std::vector<int32_t>& sizes,
                     const std::shared_ptr<arrow::Array>& values, GroupRows* rows) {
    int64_t position = rows->append(values);
    for (size_t i = 0; i < to.size(); ++i) {
      for (int32_t k = 0; k < sizes[i]; ++k) rows->add(to[i], position++);
    }
  }
  static void take(GroupsOfRows from, GroupsOfRows to, const GroupRows& other, GroupRows* rows) {
    std::vector<int32_t> sizes;
    const auto values = other.values(from, &sizes, arrow::default_memory_pool());
    addAll(to, sizes, values, rows);
  }
  // Rows [begin, end) in their order.
  std::vector<int64_t> ordered(const std::shared_ptr<arrow::Array>& orders, int64_t begin,
                               int64_t end) const {
    std::vector<int64_t> rows(static_cast<size_t>(end - begin));
    std::iota(rows.begin(), rows.end(), begin);
    if (!orders) return rows;
    std::vector<std::string> keys(rows.size());
    for (size_t i = 0; i < rows.size(); ++i) encoder_->append({orders}, rows[i], &keys[i]);
    std::stable_sort(rows.begin(), rows.end(), [&](int64_t a, int64_t b) {
      return keys[static_cast<size_t>(a - begin)] < keys[static_cast<size_t>(b - begin)];
    });
    return rows;
  }

  DataTypePtr type_, listType_;
  std::string delimiter_;
  GroupRows texts_;
  std::optional<GroupRows> orders_;
  std::optional<KeyEncoder> encoder_;
};

}  // namespace

std::unique_ptr<Aggregator> makeJoinedText(const DataTypePtr& type, std::string delimiter) {
  return std::make_unique<JoinedText>(type, std::move(delimiter), std::nullopt);
}

std::unique_ptr<Aggregator> makeOrderedText(const DataTypePtr& type, std::string delimiter, TextOrder order) {
  return std::make_unique<JoinedText>(type, std::move(delimiter), order);
}

}  // namespace thalweg
