#include "common/secret.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <vector>

#include "common/options.h"

namespace thalweg {
namespace {

constexpr std::string_view kMask = "*****";
constexpr size_t kShortestMasked = 4;

struct Registry {
  std::mutex mutex;
  // Longest first, so that a secret holding another is masked whole.
  std::set<std::string, decltype([](const std::string& a, const std::string& b) {
             return a.size() != b.size() ? a.size() > b.size() : a < b;
           })>
      values;
};

Registry& registry() {
  static Registry instance;
  return instance;
}

}  // namespace

Secret::Secret(std::string value) : value_(std::move(value)) { registerSecret(value_); }

void registerSecret(std::string_view value) {
  if (value.size() < kShortestMasked) return;
  std::lock_guard lock(registry().mutex);
  registry().values.emplace(value);
}

std::string maskSecrets(std::string_view text) {
  std::string masked(text);
  std::lock_guard lock(registry().mutex);
  for (const std::string& value : registry().values) {
    for (size_t at = masked.find(value); at != std::string::npos; at = masked.find(value, at + kMask.size())) {
      masked.replace(at, value.size(), kMask);
    }
  }
  return masked;
}

bool isSecretName(std::string_view name) {
  static constexpr std::string_view kParts[] = {"password", "secret",    "token",     "jaas",       "connectionstring",
                                                "passphrase", "credential", "signature", "access.key", "accountkey",
                                                "account.key"};
  const std::string lower = toLowerAscii(name);
  return std::any_of(std::begin(kParts), std::end(kParts),
                     [&](std::string_view part) { return lower.find(part) != std::string::npos; });
}

std::optional<std::string> shownSetting(std::string_view name, std::optional<std::string> value) {
  if (value && isSecretName(name)) return std::string(kMask);
  return value;
}

}  // namespace thalweg
