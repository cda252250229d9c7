// The settings that the engine knows, with Spark's names and defaults: one table.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace thalweg {

struct ConfigKey {
  std::string_view name;
  std::string_view defaultValue;
};

// Sorted by name. Stock clients read several of these on their own and fail where one is missing.
const std::vector<ConfigKey>& configKeys();

std::optional<std::string> configDefault(std::string_view name);

}  // namespace thalweg
