// Whose session: nobody else finds it.
#pragma once

#include <compare>
#include <string>

namespace thalweg::connect {

struct SessionKey {
  int token = 0;  // TokenList::identify
  std::string userId;
  std::string sessionId;
  auto operator<=>(const SessionKey&) const = default;
};

}  // namespace thalweg::connect
