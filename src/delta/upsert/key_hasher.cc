#include "delta/upsert/key_hasher.h"

#include <cstring>
#include <random>
#include <string>

#include <arrow/array.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace thalweg::delta {
namespace {

std::vector<KeyColumn> columnsOf(const std::vector<DataTypePtr>& types) {
  std::vector<KeyColumn> columns;
  for (const DataTypePtr& type : types) columns.push_back({type, true, true});
  return columns;
}

std::vector<unsigned char> randomSecret() {
  constexpr size_t kSecretBytes = 192;  // the library's own default size
  std::vector<unsigned char> secret(kSecretBytes);
  std::random_device random;
  for (size_t i = 0; i < secret.size(); i += sizeof(uint32_t)) {
    const uint32_t word = random();
    std::memcpy(secret.data() + i, &word, sizeof word);
  }
  return secret;
}

}  // namespace

KeyHasher::KeyHasher(const std::vector<DataTypePtr>& types)
    : encoder_(columnsOf(types)), secret_(randomSecret()) {}

void KeyHasher::hash(const std::vector<std::shared_ptr<arrow::Array>>& columns, int64_t numRows,
                     std::vector<KeyHash>* hashes) const {
  std::string key;
  for (int64_t row = 0; row < numRows; ++row) {
    key.clear();
    encoder_.append(columns, row, &key);
    const XXH128_hash_t hash =
        XXH3_128bits_withSecret(key.data(), key.size(), secret_.data(), secret_.size());
    hashes->push_back({hash.high64, hash.low64});
  }
}

}  // namespace thalweg::delta
