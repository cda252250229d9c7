// Random (version 4) UUIDs in their lower-case text form.
#pragma once

#include <string>
#include <string_view>

namespace thalweg {

std::string randomUuid();
// True for 8-4-4-4-12 hexadecimal digits of any case.
bool isUuid(std::string_view text);

}  // namespace thalweg
