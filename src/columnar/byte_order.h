// The order of byte strings.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace thalweg {

// The indices of the keys, ascending by the keys' bytes (unsigned); of equal keys in any order. Takes sixteen bytes a key
// of memory. It is made for binary rows, which have long stretches in common.
std::vector<uint32_t> byteOrderOf(std::span<const std::string_view> keys);

}  // namespace thalweg
