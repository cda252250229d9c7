// Values that must not leave the process in any text, and the masking of those that are known.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace thalweg {

// A secret text: prints as *****, and registers its value so that maskSecrets hides it wherever text leaves the process.
// reveal() is the one way to the value.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string value);
  const std::string& reveal() const { return value_; }
  bool empty() const { return value_.empty(); }

 private:
  std::string value_;
};

// Replaces every registered secret value in the text by *****. Thread-safe.
std::string maskSecrets(std::string_view text);

// Registers a value without keeping it; values under four characters are not masked (they would hide ordinary text).
void registerSecret(std::string_view value);

// True for option and configuration names whose values are secrets (password, secret, token, jaas, connection string, key
// files' passwords, shared access signatures). Ignores case.
bool isSecretName(std::string_view name);

// A setting's value as it may be shown: ***** in place of a secret.
std::optional<std::string> shownSetting(std::string_view name, std::optional<std::string> value);

}  // namespace thalweg
