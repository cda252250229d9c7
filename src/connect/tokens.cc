#include "connect/tokens.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <fstream>
#include <sstream>

#include "common/error.h"
#include "common/options.h"
#include "common/secret.h"

namespace thalweg::connect {
namespace {

std::array<unsigned char, 32> digest(std::string_view text) {
  std::array<unsigned char, 32> hash;
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), hash.data());
  return hash;
}

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

}  // namespace

TokenList TokenList::fromText(std::string_view text) {
  TokenList list;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string_view token = trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (token.empty() || token.front() == '#') continue;
    registerSecret(token);
    list.digests_.push_back(digest(token));
  }
  if (list.empty()) throw Error("INVALID_OPTION", "No token was given; write one token a line.");
  return list;
}

TokenList TokenList::fromFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  if (!file || !(content << file.rdbuf())) {
    throw Error("INVALID_OPTION", "The token file " + path + " cannot be read, or is empty.",
                {{"path", path}});
  }
  return fromText(content.str());
}

std::optional<int> TokenList::identify(std::string_view header) const {
  if (digests_.empty()) return 0;
  constexpr std::string_view kScheme = "bearer ";
  if (header.size() < kScheme.size() || !equalsIgnoreCase(header.substr(0, kScheme.size()), kScheme))
    return std::nullopt;
  const auto given = digest(trim(header.substr(kScheme.size())));
  std::optional<int> found;
  for (size_t i = 0; i < digests_.size(); ++i) {
    if (CRYPTO_memcmp(given.data(), digests_[i].data(), given.size()) == 0) found = static_cast<int>(i);
  }
  return found;
}

}  // namespace thalweg::connect
