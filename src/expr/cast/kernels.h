// The conversions behind Cast, one file a target family: numbers.cc, times.cc, text.cc, nested.cc.
#pragma once

#include <memory>

#include <arrow/type_fwd.h>

#include "expr/cast/cast.h"

namespace thalweg {

struct CastKernelContext {
  CastMode mode;
  const Selection selection;
  const EvaluationContext& evaluation;
};

using ArrayPtr = std::shared_ptr<arrow::Array>;

// Any allowed pair: same length, Arrow type of `to`.
ArrayPtr castKernel(const ArrayPtr& input, const DataType& from, const DataType& to, const CastKernelContext& context);

ArrayPtr castToNumber(const ArrayPtr& input, const DataType& from, const DataType& to, const CastKernelContext& context);
ArrayPtr castToBoolean(const ArrayPtr& input, const DataType& from, const CastKernelContext& context);
ArrayPtr castToDecimal(const ArrayPtr& input, const DataType& from, const DataType& to, const CastKernelContext& context);
ArrayPtr castToTime(const ArrayPtr& input, const DataType& from, const DataType& to, const CastKernelContext& context);
ArrayPtr castToText(const ArrayPtr& input, const DataType& from, const CastKernelContext& context);
ArrayPtr castNested(const ArrayPtr& input, const DataType& from, const DataType& to, const CastKernelContext& context);

// Raised by the first selected row that does not fit, in ANSI mode.
[[noreturn]] void throwCastOverflow(const std::string& value, const DataType& from, const DataType& to);
[[noreturn]] void throwCastInvalidInput(const std::string& value, const DataType& from, const DataType& to);

}  // namespace thalweg
