// Kernels made from a function of one row's values: null in, null out, only selected rows computed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <arrow/array/array_binary.h>
#include <arrow/array/array_decimal.h>
#include <arrow/array/array_primitive.h>
#include <arrow/array/builder_binary.h>
#include <arrow/array/util.h>
#include <arrow/buffer_builder.h>
#include <arrow/scalar.h>
#include <arrow/util/decimal.h>

#include "functions/kernel_support.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {

// Result marker of kernels whose rows append text (or bytes) to a buffer.
struct TextResult {};

// One argument's values as C++ values: std::string_view of strings and binaries, bool, arrow::Decimal128, and the C types of
// numbers, dates, timestamps and intervals. A scalar argument is read again for every row.
template <typename T>
class ValueReader {
 public:
  explicit ValueReader(const arrow::Datum& argument) : stride_(argument.is_scalar() ? 0 : 1) {
    array_ = argument.is_scalar() ? valueOrThrow(arrow::MakeArrayFromScalar(*argument.scalar(), 1)) : argument.make_array();
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) values_ = array_->data()->GetValues<T>(1);
  }
  bool isNull(int64_t row) const { return array_->IsNull(row * stride_); }
  T value(int64_t row) const {
    const int64_t at = row * stride_;
    if constexpr (std::is_same_v<T, std::string_view>) return static_cast<const arrow::BinaryArray&>(*array_).GetView(at);
    else if constexpr (std::is_same_v<T, bool>) return static_cast<const arrow::BooleanArray&>(*array_).Value(at);
    else if constexpr (std::is_same_v<T, arrow::Decimal128>) {
      return arrow::Decimal128(static_cast<const arrow::Decimal128Array&>(*array_).GetValue(at));
    } else return values_[at];
  }

 private:
  std::shared_ptr<arrow::Array> array_;
  int64_t stride_;
  std::conditional_t<std::is_arithmetic_v<T>, const T*, const void*> values_ = nullptr;
};

// Values of a fixed width (booleans and decimals too) or texts, gathered in the order of rows.
template <typename Out>
class ResultWriter {
 public:
  ResultWriter(const DataType& type, int64_t numRows, arrow::MemoryPool* pool) : type_(toArrowType(type)), valid_(pool), values_(pool) {
    throwIfFailed(valid_.Reserve(numRows));
    throwIfFailed(values_.Reserve(numRows));
  }
  void appendNull() {
    valid_.UnsafeAppend(false);
    values_.UnsafeAppend(Out());
    ++numNulls_;
  }
  void append(const Out& value) {
    valid_.UnsafeAppend(true);
    values_.UnsafeAppend(value);
  }
  void append(const std::optional<Out>& value) {
    if (value) append(*value);
    else appendNull();
  }
  std::shared_ptr<arrow::Array> finish() {
    const int64_t length = valid_.length();
    auto valid = valueOrThrow(valid_.Finish());
    auto values = valueOrThrow(values_.Finish());
    return arrow::MakeArray(arrow::ArrayData::Make(type_, length, {numNulls_ ? valid : nullptr, values}, numNulls_));
  }

 private:
  std::shared_ptr<arrow::DataType> type_;
  arrow::TypedBufferBuilder<bool> valid_;
  arrow::TypedBufferBuilder<Out> values_;
  int64_t numNulls_ = 0;
};

template <>
class ResultWriter<TextResult> {
 public:
  ResultWriter(const DataType& type, int64_t numRows, arrow::MemoryPool* pool) : type_(toArrowType(type)), builder_(pool) {
    throwIfFailed(builder_.Reserve(numRows));
  }
  void appendNull() { throwIfFailed(builder_.AppendNull()); }
  void append(std::string_view value) { throwIfFailed(builder_.Append(value)); }
  std::shared_ptr<arrow::Array> finish() { return valueOrThrow(valueOrThrow(builder_.Finish())->View(type_)); }

 private:
  std::shared_ptr<arrow::DataType> type_;
  arrow::BinaryBuilder builder_;
};

// Calls compute(row) for selected rows and skip() for the others, in order.
template <typename Compute, typename Skip>
void forEachRow(const KernelContext& context, Compute&& compute, Skip&& skip) {
  int64_t next = 0;
  context.selection.forEach([&](int64_t row) {
    for (; next < row; ++next) skip();
    compute(row);
    next = row + 1;
  });
  for (; next < context.numRows; ++next) skip();
}

// make(context) gives, once a batch, a function of a row's values:
//  - Out(In...) or std::optional<Out>(In...) for values (empty: null),
//  - void or bool(std::string* text, In...) for TextResult (false: null); `text` comes empty.
// It may throw Error: only selected rows are computed.
template <typename Out, typename... In, typename Make>
Kernel rowKernelOf(Make make) {
  return [make](const KernelContext& context, const std::vector<arrow::Datum>& arguments) -> arrow::Datum {
    return [&]<size_t... I>(std::index_sequence<I...>) -> arrow::Datum {
      const std::tuple<ValueReader<In>...> readers{ValueReader<In>(arguments[I])...};
      auto function = make(context);
      ResultWriter<Out> result(context.resultType, context.numRows, context.evaluation.memoryPool());
      std::string text;
      auto compute = [&](int64_t row) {
        if ((false || ... || std::get<I>(readers).isNull(row))) return result.appendNull();
        if constexpr (std::is_same_v<Out, TextResult>) {
          text.clear();
          if constexpr (std::is_same_v<decltype(function(&text, std::get<I>(readers).value(row)...)), bool>) {
            if (!function(&text, std::get<I>(readers).value(row)...)) return result.appendNull();
          } else {
            function(&text, std::get<I>(readers).value(row)...);
          }
          result.append(text);
        } else {
          result.append(function(std::get<I>(readers).value(row)...));
        }
      };
      forEachRow(context, compute, [&] { result.appendNull(); });
      return result.finish();
    }(std::index_sequence_for<In...>());
  };
}

// The same for a function that needs nothing of the batch.
template <typename Out, typename... In, typename F>
Kernel rowKernel(F function) {
  return rowKernelOf<Out, In...>([function](const KernelContext&) { return function; });
}

}  // namespace thalweg
