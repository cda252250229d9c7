#include "columnar/binary_row_fields.h"

#include "columnar/binary_row_layout.h"
#include "common/error.h"

namespace thalweg {
namespace {

using namespace binary_row;

[[noreturn]] void throwMalformed() {
  throw Error("STATE_STORE_KEY_ROW_FORMAT_VALIDATION_FAILURE",
              "A state key does not have the form of its schema: a value lies outside its row. The query's "
              "stateful operators "
              "may differ from those that wrote the checkpoint, or the file is damaged.",
              {{"errorMsg", "a value lies outside its row"}});
}

// A row in the making at the end of a string: fields are copied into it from other rows, in order.
class RowCopy {
 public:
  RowCopy(size_t numFields, std::string* out) : numFields_(numFields), start_(out->size()), out_(out) {
    out->resize(start_ + fixedBytes(numFields));
  }

  // Copies field `from` of a row of `numSourceFields` as the next field of this one.
  void add(const DataType& type, std::string_view source, size_t numSourceFields, size_t from) {
    if (source.size() < fixedBytes(numSourceFields)) throwMalformed();
    const bool null = isNull(source.data(), from);
    if (null) setNull(out_->data() + start_, next_);
    const auto word = load<uint64_t>(source.data() + bitsetBytes(numSourceFields) + 8 * from);
    const size_t slot = start_ + bitsetBytes(numFields_) + 8 * next_++;
    if (!isVariable(type)) return store(out_->data() + slot, null ? uint64_t{0} : word);
    if (null && !isReserved16(type)) return;
    const size_t offset = word >> 32, size = word & 0xFFFFFFFFu;
    const size_t padded = isReserved16(type) ? 16 : roundUp8(size);
    if (offset > source.size() || padded > source.size() - offset) throwMalformed();
    store(out_->data() + slot, offsetAndSize(out_->size() - start_, size));
    out_->append(source.substr(offset, padded));
  }

 private:
  size_t numFields_;
  size_t start_;
  size_t next_ = 0;
  std::string* out_;
};

}  // namespace

BinaryRowSplitter::BinaryRowSplitter(std::vector<DataTypePtr> types, size_t numPrefix)
    : types_(std::move(types)), numPrefix_(numPrefix) {
  THALWEG_ASSERT(numPrefix_ <= types_.size());
}

void BinaryRowSplitter::appendPrefix(std::string_view row, std::string* out) const {
  RowCopy copy(numPrefix_, out);
  for (size_t i = 0; i < numPrefix_; ++i) copy.add(*types_[i], row, types_.size(), i);
}

void BinaryRowSplitter::appendRest(std::string_view row, std::string* out) const {
  RowCopy copy(types_.size() - numPrefix_, out);
  for (size_t i = numPrefix_; i < types_.size(); ++i) copy.add(*types_[i], row, types_.size(), i);
}

void BinaryRowSplitter::appendJoined(std::string_view prefix, std::string_view rest, std::string* out) const {
  RowCopy copy(types_.size(), out);
  for (size_t i = 0; i < numPrefix_; ++i) copy.add(*types_[i], prefix, numPrefix_, i);
  for (size_t i = numPrefix_; i < types_.size(); ++i)
    copy.add(*types_[i], rest, types_.size() - numPrefix_, i - numPrefix_);
}

}  // namespace thalweg
