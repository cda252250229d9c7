// Bearer tokens: who a caller is.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace thalweg::connect {

// The tokens that a server takes. Only digests are kept; the values are registered for masking. Immutable
// once made.
class TokenList {
 public:
  // Takes every caller.
  TokenList() = default;
  // One token a line; blank lines and lines that begin with # are skipped. Throws INVALID_OPTION where none
  // is left.
  static TokenList fromText(std::string_view text);
  // Throws INVALID_OPTION, naming the file, where it cannot be read or holds no token.
  static TokenList fromFile(const std::string& path);

  bool empty() const { return digests_.empty(); }
  // The caller's number: the token's place in the list, or 0 where the list is empty. Nothing for a wrong or
  // missing "Bearer ..." header. Takes the same time whichever token matches and however much of it.
  std::optional<int> identify(std::string_view authorizationHeader) const;

 private:
  std::vector<std::array<unsigned char, 32>> digests_;
};

}  // namespace thalweg::connect
