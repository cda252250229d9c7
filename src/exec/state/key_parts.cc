#include "exec/state/key_parts.h"

#include <cstring>

#include "common/big_endian.h"
#include "common/error.h"
#include "exec/state/in_blocks.h"

namespace thalweg {
void appendSized(std::string_view bytes, std::string* out) {
  const auto size = static_cast<uint32_t>(bytes.size());
  THALWEG_ASSERT(size == bytes.size());
  out->append(reinterpret_cast<const char*>(&size), sizeof(size));
  out->append(bytes);
}

std::string_view takeSized(std::string_view* rest) {
  uint32_t size = 0;
  THALWEG_ASSERT(rest->size() >= sizeof(size));
  std::memcpy(&size, rest->data(), sizeof(size));
  THALWEG_ASSERT(rest->size() - sizeof(size) >= size);
  const std::string_view bytes = rest->substr(sizeof(size), size);
  rest->remove_prefix(sizeof(size) + size);
  return bytes;
}

// The key, its number behind it: keys of one size first, so that no key's parts lie among those of another.
std::string KeyParts::bytesOf(std::string_view key, uint64_t number) {
  std::string bytes;
  appendBigEndian(static_cast<uint32_t>(key.size()), &bytes);
  bytes.append(key);
  appendBigEndian(number, &bytes);
  return bytes;
}

void KeyParts::removeIf(const std::function<bool(uint64_t number)>& isUnwanted) {
  sorter_.removeIf([&](std::string_view bytes) {
    return isUnwanted(loadBigEndian64(bytes.substr(bytes.size() - sizeof(uint64_t))));
  });
}

void KeyParts::takeAll(
    const std::function<void(const std::vector<std::string>& keys, std::span<const KeyPart> parts)>& visit) {
  std::vector<std::string> keys;
  std::vector<KeyPart> parts;
  const auto visitBlock = [&] {
    if (!parts.empty()) visit(keys, parts);
    keys.clear();
    parts.clear();
  };
  sorter_.takeAll([&](std::string_view bytes, std::string_view value) {
    const std::string_view key =
        bytes.substr(sizeof(uint32_t), bytes.size() - sizeof(uint32_t) - sizeof(uint64_t));
    if (keys.empty() || keys.back() != key) {
      if (parts.size() >= kBlockSize) visitBlock();
      keys.emplace_back(key);
    }
    parts.push_back({static_cast<uint32_t>(keys.size() - 1),
                     loadBigEndian64(bytes.substr(bytes.size() - sizeof(uint64_t))), std::string(value)});
  });
  visitBlock();
}

}  // namespace thalweg
