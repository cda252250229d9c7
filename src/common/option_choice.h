// Options that go by several names: a writer's own, and the session's setting for all that do not say.
#pragma once

#include <initializer_list>
#include <string_view>

#include "common/options.h"

namespace thalweg {

// The name that counts: the first of these that is among the options, the last where none is. The option's
// own name comes first and the session's setting, which lies among the options under its name, last:
// options.getBool(firstGiven(options, {"mergeSchema", "spark.sql.parquet.mergeSchema"}), false). At least one
// name; the view is of the one given.
std::string_view firstGiven(const Options& options, std::initializer_list<std::string_view> names);

}  // namespace thalweg
