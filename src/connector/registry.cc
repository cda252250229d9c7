#include "connector/registry.h"

#include "common/error.h"

namespace thalweg {

void FormatRegistry::add(FormatProvider provider) {
  std::string key = toLowerAscii(provider.name);
  const bool isNew = providers_.emplace(std::move(key), std::move(provider)).second;
  THALWEG_ASSERT(isNew);
}

const FormatProvider& FormatRegistry::find(std::string_view name) const {
  auto it = providers_.find(toLowerAscii(name));
  if (it == providers_.end()) {
    throw Error("DATA_SOURCE_NOT_FOUND", "There is no data source '" + std::string(name) + "'; check the name given to format().",
                {{"provider", std::string(name)}});
  }
  return it->second;
}

}  // namespace thalweg
