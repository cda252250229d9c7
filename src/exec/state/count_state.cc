#include "exec/state/count_state.h"

#include <arrow/api.h>

#include "types/arrow_result.h"

namespace thalweg {
namespace {

void encodeKey(BinaryRows* out) {
  out->clear();
  BinaryRowEncoder({voidType()}).encode({std::make_shared<arrow::NullArray>(1)}, 0, 1, out);
}

void encodeValue(int64_t count, BinaryRows* out) {
  arrow::Int64Builder builder;
  throwIfFailed(builder.Append(count));
  out->clear();
  BinaryRowEncoder({longType()}).encode({valueOrThrow(builder.Finish())}, 0, 1, out);
}

}  // namespace

StoreDefinition CountState::store() {
  return {kDefaultStateStore, DataType::structOf({{"key", voidType(), true}}),
          DataType::structOf({{"value", longType(), true}}), 0};
}

void CountState::restart() {
  count_.reset();
  changed_ = false;
}

void CountState::apply(const StateChange& change) {
  count_.reset();
  if (change.kind == StateChange::Kind::Remove) return;
  BinaryRowDecoder decoder({longType()}, BinaryRowDecoder::Role::Value, arrow::default_memory_pool());
  const std::string_view row = change.value;
  decoder.append({&row, 1});
  const auto column = decoder.finish()[0];
  if (column->IsValid(0)) count_ = static_cast<const arrow::Int64Array&>(*column).Value(0);
}

bool CountState::add(int64_t more) {
  count_ = count() + more;
  return !std::exchange(changed_, true);
}

std::vector<StateChange> CountState::changes() {
  if (!changed_) return {};
  encodeKey(&key_);
  encodeValue(count(), &value_);
  return {{StateChange::Kind::Put, key_[0], value_[0]}};
}

StateEntries CountState::entries() const {
  return [this](const std::function<void(std::string_view, std::string_view)>& put) {
    if (!count_) return;
    BinaryRows key, value;
    encodeKey(&key);
    encodeValue(*count_, &value);
    put(key[0], value[0]);
  };
}

}  // namespace thalweg
