// The fields of a type at every depth: of structs, and of structs in arrays and maps.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "types/data_type.h"

namespace thalweg {

// The type with every field in it as `change` leaves it, outer ones first.
DataTypePtr withEachField(const DataTypePtr& type, const std::function<void(StructField* field)>& change);

// Where a struct without fields lies in the type: dotted, with "element", "key" and "value" for what is in
// arrays and maps; empty: the type is one itself. Nothing where there is none.
std::optional<std::string> emptyStructIn(const DataType& type);

// A name that the type, or a struct in it, has twice; as the second of the two is spelled.
std::optional<std::string> repeatedName(const DataType& type, bool caseSensitive);

}  // namespace thalweg
