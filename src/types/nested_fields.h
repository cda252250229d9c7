// The fields of a type at every depth: of structs, and of structs in arrays and maps.
#pragma once

#include <functional>

#include "types/data_type.h"

namespace thalweg {

// The type with every field in it as `change` leaves it, outer ones first.
DataTypePtr withEachField(const DataTypePtr& type, const std::function<void(StructField* field)>& change);

}  // namespace thalweg
