// Parquet's hybrid of runs and bit-packed groups (encoding RLE), for levels and dictionary codes.
#pragma once

#include <cstdint>
#include <vector>

namespace thalweg {

// Bits that hold every value from 0 to `largest`.
int bitWidthOf(uint32_t largest);

// Appends `count` values of at most 32 bits, each of `bitWidth` bits: runs of eight and more equal values as
// a run, others packed. What is appended is complete: a reader needs the count.
void appendHybridRuns(const uint32_t* values, int64_t count, int bitWidth, std::vector<uint8_t>& out);
void appendHybridRuns(const int16_t* values, int64_t count, int bitWidth, std::vector<uint8_t>& out);
// The same value `count` times.
void appendHybridRun(uint32_t value, int64_t count, int bitWidth, std::vector<uint8_t>& out);

}  // namespace thalweg
