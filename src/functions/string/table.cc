// Functions over string values.
#include "functions/registry.h"

namespace thalweg {

std::span<const FunctionRow> stringFunctions() { return {}; }

}  // namespace thalweg
