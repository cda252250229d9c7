// Decimals as Java's BigInteger writes them.
#pragma once

#include <cstddef>

#include <arrow/type_fwd.h>

namespace thalweg {

// The shortest big-endian two's complement of a number, in `out` (room for 16 bytes); its length, at least 1.
size_t shortestBigEndian(const arrow::Decimal128& value, char* out);

}  // namespace thalweg
