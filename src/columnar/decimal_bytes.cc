#include "columnar/decimal_bytes.h"

#include <cstdint>
#include <cstring>

#include <arrow/util/decimal.h>

namespace thalweg {

size_t shortestBigEndian(const arrow::Decimal128& value, char* out) {
  char big[16];
  for (size_t i = 0; i < 8; ++i) {
    big[i] = static_cast<char>(static_cast<uint64_t>(value.high_bits()) >> (56 - 8 * i));
    big[8 + i] = static_cast<char>(value.low_bits() >> (56 - 8 * i));
  }
  const char sign = value.high_bits() < 0 ? '\xFF' : '\0';
  size_t start = 0;
  while (start < 15 && big[start] == sign && (big[start] ^ big[start + 1]) >= 0) ++start;
  std::memcpy(out, big + start, 16 - start);
  return 16 - start;
}

}  // namespace thalweg
