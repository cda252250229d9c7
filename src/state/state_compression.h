// The compressed streams of state files: LZ4 blocks as lz4-java frames them, or one zstd stream.
//
// An LZ4 block: "LZ4Block", a token (method 0x10 raw or 0x20 LZ4 | log2(block size) − 10), compressed length,
// length and checksum as little-endian integers, bytes. The checksum is xxHash32 of the uncompressed bytes
// with seed 0x9747b28c, without its upper four bits. A raw block of length 0 ends the stream; another stream
// may follow.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace arrow::io {
class RandomAccessFile;
}

namespace thalweg {

enum class StateCodec { Lz4, Zstd };

// Spark's names ("lz4", "zstd", any case); Error UNSUPPORTED_FEATURE names others.
StateCodec stateCodecOf(std::string_view name);

// Bytes in, a compressed stream out, in memory. Used by one thread.
class StateCompressor {
 public:
  explicit StateCompressor(StateCodec codec);
  ~StateCompressor();
  void append(std::string_view bytes);
  // Ends the stream; the compressor is then of no more use.
  std::string finish();

 private:
  struct State;
  void flushBlock();
  std::unique_ptr<State> state_;
};

// A compressed file as its uncompressed bytes, a piece at a time. Foreign bytes: lengths and checksums are
// checked.
class StateDecompressor {
 public:
  virtual ~StateDecompressor() = default;
  // The next bytes, valid until the next call; empty at the end. Throws Error STATE_STORE_CHECKPOINT_CORRUPT
  // whose text says what is wrong and leaves the file's name to the caller.
  virtual std::string_view next() = 0;
};

// Over the file at `path`; next() then also throws Error STORAGE_FAILURE, naming it.
std::unique_ptr<StateDecompressor> openStateDecompressor(StateCodec codec,
                                                         std::shared_ptr<arrow::io::RandomAccessFile> file,
                                                         std::string path);
// Over bytes in memory, which must outlive it.
std::unique_ptr<StateDecompressor> openStateDecompressor(StateCodec codec, std::string_view bytes);

}  // namespace thalweg
