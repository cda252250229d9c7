// Functions over collection values.
#include "functions/registry.h"

namespace thalweg {

std::span<const FunctionRow> collectionFunctions() { return {}; }

}  // namespace thalweg
