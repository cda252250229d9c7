// Structs fitted to others by their fields' names, as an UPDATE of a Delta table fits them. A cast goes by
// position.
#pragma once

#include "expr/expression.h"

namespace thalweg {

// `value` with its fields, those of structs in it and of structs that are an array's elements too, named and
// ordered as in `to` (ignoring case); their types stay, for a cast that follows. Null structs stay null. In
// maps, and in arrays of arrays, fields are left as they are. Throws Error
// DELTA_UPDATE_SCHEMA_MISMATCH_EXPRESSION for a struct that has other fields than its target, or fewer.
ExpressionPtr fieldsByName(const ExpressionPtr& value, const DataTypePtr& to);

}  // namespace thalweg
