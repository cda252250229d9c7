#include "delta/files/random_folder.h"

#include <algorithm>
#include <charconv>

#include "common/uuid.h"
#include "delta/files/column_mapping.h"
#include "delta/snapshot/property_values.h"

namespace thalweg::delta {

int randomFolderLength(const Metadata& metadata) {
  const bool isRandom = columnMappingMode(metadata) != ColumnMappingMode::None ||
                        tableFlag(metadata, "delta.randomizeFilePrefixes");
  if (!isRandom) return 0;
  constexpr int64_t kDefault = 2;
  // The longest name of a folder that file systems take.
  constexpr int64_t kLongest = 255;
  const auto text = tableProperty(metadata, "delta.randomPrefixLength");
  const int64_t length = text ? parsePropertyNumber(*text).value_or(kDefault) : kDefault;
  return static_cast<int>(std::clamp<int64_t>(length, 1, kLongest));
}

std::string randomFolder(int length) {
  static constexpr std::string_view kCharacters =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  // The first digits of an id are random, two of them choose a character.
  constexpr size_t kDigits = 8;
  std::string name;
  std::string digits;
  while (name.size() < static_cast<size_t>(length)) {
    if (digits.empty()) digits = randomUuid().substr(0, kDigits);
    unsigned byte = 0;
    std::from_chars(digits.data(), digits.data() + 2, byte, 16);
    digits.erase(0, 2);
    name += kCharacters[byte % kCharacters.size()];
  }
  return name;
}

}  // namespace thalweg::delta
