// Compressed state files of every length come back whole.
#include "state/state_compression.h"

#include <gtest/gtest.h>
#include <zstd.h>

namespace thalweg {
namespace {

std::string throughFile(StateCodec codec, const std::string& contents) {
  StateCompressor compressor(codec);
  compressor.append(contents);
  const std::string file = compressor.finish();
  const auto decompressor = openStateDecompressor(codec, file);
  std::string read;
  for (std::string_view piece; !(piece = decompressor->next()).empty();) read += piece;
  return read;
}

// Bytes that no codec makes much shorter or treats as a run.
std::string noise(size_t size) {
  std::string bytes(size, '\0');
  uint64_t state = 88172645463325252ull;
  for (char& byte : bytes) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    byte = static_cast<char>(state);
  }
  return bytes;
}

// The decompressor's buffer has the size of a zstd block: contents that fill it exactly end with the frame.
TEST(StateCompressionTest, ContentsThatFillTheBufferExactlyAreWhole) {
  const size_t buffer = ZSTD_DStreamOutSize();
  for (const StateCodec codec : {StateCodec::Lz4, StateCodec::Zstd}) {
    for (const size_t size : {size_t{0}, size_t{1}, buffer - 1, buffer, buffer + 1, 2 * buffer, 3 * buffer}) {
      for (const std::string& contents : {noise(size), std::string(size, 'a')}) {
        EXPECT_EQ(throughFile(codec, contents), contents) << size << " bytes";
      }
    }
  }
}

// Spark 4.2 writes frames without a checksum (its first bytes: 28b52ffd 00 48), so a flipped byte of a value may go
// unnoticed with this codec.
TEST(StateCompressionTest, ZstdFramesAreAsSparks) {
  StateCompressor compressor(StateCodec::Zstd);
  compressor.append(noise(1000));
  const std::string file = compressor.finish();
  EXPECT_EQ(file.substr(0, 5), std::string("\x28\xb5\x2f\xfd\0", 5));
}

}  // namespace
}  // namespace thalweg
