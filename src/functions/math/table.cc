// Functions over math values.
#include "functions/registry.h"

namespace thalweg {

std::span<const FunctionRow> mathFunctions() { return {}; }

}  // namespace thalweg
