// A constant as Spark shows it inside column names and plans: 1, 1.5, a, NULL, TIMESTAMP '…'.
#pragma once

#include <string>

#include <arrow/type_fwd.h>

#include "types/data_type.h"

namespace thalweg {

std::string literalText(const arrow::Scalar& value, const DataType& type);

}  // namespace thalweg
