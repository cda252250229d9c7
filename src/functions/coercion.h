// Spark's implicit type conversions of operands and arguments.
#pragma once

#include <string_view>
#include <vector>

#include "expr/expression.h"
#include "functions/registry.h"

namespace thalweg {

// The type to which two sides of a comparison, or branches of a CASE, are brought; null where there is none.
// Numbers widen (decimals by Spark's rule), a string meets a number or a date on the other's side under ANSI, void takes
// any type, dates meet timestamps as timestamps, nested types part by part.
DataTypePtr commonType(const DataTypePtr& left, const DataTypePtr& right, const FunctionContext& context);
// As commonType over a whole list; null where there is none.
DataTypePtr commonType(const std::vector<ExpressionPtr>& expressions, const FunctionContext& context);

// The decimal type that holds every value of an integral type, or the type itself for a decimal.
DataTypePtr decimalFor(const DataType& type);

// An argument where a function takes `to`: cast implicitly where Spark does, else DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE
// naming the function and the argument's position (from 1).
ExpressionPtr implicitCast(const ExpressionPtr& argument, const DataTypePtr& to, std::string_view function, int position,
                           const FunctionContext& context);

// The error for operands of types that an operator does not take together.
[[noreturn]] void throwDifferentTypes(std::string_view function, const Expression& left, const Expression& right);

}  // namespace thalweg
