// Data types as Spark Connect's messages carry them, both ways.
#pragma once

#include "types/data_type.h"

namespace spark::connect {
class DataType;
}

namespace thalweg {

// Throws Error UNSUPPORTED_DATATYPE for types that are not known here.
DataTypePtr fromProtoType(const spark::connect::DataType& message);
void toProtoType(const DataType& type, spark::connect::DataType* message);

}  // namespace thalweg
