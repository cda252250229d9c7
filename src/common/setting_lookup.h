// How settings of a session are read by those who know no sessions.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace thalweg {

// A setting's value by its name, as the session or the server has it; nullopt where neither says it.
using SettingLookup = std::function<std::optional<std::string>(const std::string& key)>;

}  // namespace thalweg
