// Spark's hashes of rows: hash() (Murmur3, 32 bits) and xxhash64(), folded over the columns from left to
// right.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <arrow/type_fwd.h>

#include "types/data_type.h"

namespace thalweg {

// Where the fold over a row's columns begins.
inline constexpr uint32_t kRowHashSeed = 42;

// hashes[i] becomes the hash of the column's i-th value with hashes[i] as its seed; a null leaves it as it
// is. The column has as many values as there are hashes. −0.0 hashes as 0.0, every NaN alike; decimals of up
// to 18 digits as longs, larger ones by the shortest bytes of their unscaled value. Throws Error
// UNSUPPORTED_FEATURE for types without a hash (maps, calendar intervals, variants). Any thread.
void foldMurmur3(const DataType& type, const arrow::Array& column, std::span<uint32_t> hashes);
void foldXxHash64(const DataType& type, const arrow::Array& column, std::span<uint64_t> hashes);

// The same with the value of one row for all hashes.
void foldMurmur3OfRow(const DataType& type, const arrow::Array& column, int64_t row, std::span<uint32_t> hashes);
// A long's or a timestamp's.
uint32_t murmur3Of(int64_t value, uint32_t seed);

// Of a row with this hash.
int32_t partitionOf(uint32_t hash, int32_t numPartitions);
// The partition of each row, as Spark's exchange by these columns has it: pmod(hash(columns), numPartitions).
// State lies where this says; any other hash makes Spark look in the wrong partition.
std::vector<int32_t> partitionIds(const std::vector<DataTypePtr>& types,
                                  const std::vector<std::shared_ptr<arrow::Array>>& columns, int64_t numRows,
                                  int32_t numPartitions);

}  // namespace thalweg
