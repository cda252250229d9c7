// Rows of function tables that are no more than parameter types, a result type and a kernel.
#pragma once

#include <string_view>
#include <vector>

#include "functions/kernel_support.h"
#include "functions/registry.h"

namespace thalweg {

struct Signature {
  std::string_view name;
  std::vector<DataTypePtr> parameters;  // arguments are cast to these; null: taken as it is
  DataTypePtr result;
  Kernel kernel;
  // Values of parameters at the end that a call may leave out.
  std::vector<ExpressionPtr> defaults = {};
  bool addsNulls = false;  // null also where no argument is
};

// `defaults` count among the call's arguments but are not printed.
FunctionRow functionRow(Signature signature);

// A call with its arguments cast to the parameters' types.
std::vector<ExpressionPtr> coercedArguments(const FunctionCall& call, const std::vector<DataTypePtr>& parameters,
                                            const FunctionContext& context);

// A constant argument's value, as its type's scalar. Throws Error DATATYPE_MISMATCH.NON_FOLDABLE_INPUT.
std::shared_ptr<arrow::Scalar> constantArgument(const ExpressionPtr& argument, std::string_view function, std::string_view parameter);

}  // namespace thalweg
