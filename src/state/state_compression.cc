#include "state/state_compression.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <lz4.h>
#include <xxhash.h>
#include <zstd.h>

#include "common/error.h"
#include "common/options.h"
#include "storage/storage_error.h"

namespace thalweg {
namespace {

constexpr std::string_view kMagic = "LZ4Block";
constexpr size_t kHeaderBytes = 8 + 1 + 4 + 4 + 4;
constexpr uint32_t kChecksumSeed = 0x9747b28c;
constexpr uint8_t kRaw = 0x10, kLz4 = 0x20;
constexpr size_t kBlockBytes = 32 << 10;  // Spark's spark.io.compression.lz4.blockSize
constexpr int kBlockLevel = 5;            // log2(32 KB) − 10
constexpr size_t kReadBytes = 256 << 10;

[[noreturn]] void throwCorrupt(const std::string& reason) {
  throw Error("STATE_STORE_CHECKPOINT_CORRUPT", reason);
}

uint32_t checksumOf(const char* bytes, size_t size) {
  return XXH32(bytes, size, kChecksumSeed) & 0x0FFFFFFFu;
}

void appendHeader(uint8_t method, uint32_t compressed, uint32_t length, uint32_t checksum, std::string* out) {
  out->append(kMagic);
  out->push_back(static_cast<char>(method | kBlockLevel));
  for (const uint32_t number : {compressed, length, checksum})
    out->append(reinterpret_cast<const char*>(&number), 4);
}

// `scratch` has room for a compressed block.
void appendBlock(std::string_view bytes, std::vector<char>& scratch, std::string* out) {
  const int compressed = LZ4_compress_default(bytes.data(), scratch.data(), static_cast<int>(bytes.size()),
                                              static_cast<int>(scratch.size()));
  const bool raw = compressed <= 0 || static_cast<size_t>(compressed) >= bytes.size();
  const std::string_view stored = raw ? bytes : std::string_view(scratch.data(), static_cast<size_t>(compressed));
  appendHeader(raw ? kRaw : kLz4, static_cast<uint32_t>(stored.size()), static_cast<uint32_t>(bytes.size()),
               checksumOf(bytes.data(), bytes.size()), out);
  out->append(stored);
}

struct ZstdStreams {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

// The next bytes of a file, empty at its end.
using Input = std::function<std::string_view()>;

// Exactly n bytes at a time from pieces of any size.
class ByteInput {
 public:
  explicit ByteInput(Input input) : input_(std::move(input)) {}

  // Fewer than n only at the end. Valid until the next call.
  std::string_view take(size_t n) {
    if (rest_.size() >= n) {
      const std::string_view taken = rest_.substr(0, n);
      rest_.remove_prefix(n);
      return taken;
    }
    joined_.assign(rest_);
    rest_ = {};
    while (joined_.size() < n) {
      const std::string_view piece = input_();
      if (piece.empty()) break;
      const size_t needed = std::min(n - joined_.size(), piece.size());
      joined_.append(piece.substr(0, needed));
      rest_ = piece.substr(needed);
    }
    return joined_;
  }

 private:
  Input input_;
  std::string_view rest_;
  std::string joined_;
};

class Lz4Decompressor : public StateDecompressor {
 public:
  explicit Lz4Decompressor(Input input) : input_(std::move(input)) {}

  std::string_view next() override {
    while (true) {
      const std::string_view header = input_.take(kHeaderBytes);
      if (header.empty() && ended_) return {};
      if (header.size() < kHeaderBytes) throwCorrupt("it ends in the middle of an LZ4 block's header");
      if (!header.starts_with(kMagic)) throwCorrupt("an LZ4 block does not begin with its magic bytes");
      const auto token = static_cast<uint8_t>(header[8]);
      const size_t maxLength = size_t{1} << (10 + (token & 0x0F));
      uint32_t numbers[3];
      std::memcpy(numbers, header.data() + 9, sizeof(numbers));
      const auto [compressed, length, checksum] = numbers;
      if (length > maxLength ||
          compressed > static_cast<uint32_t>(LZ4_compressBound(static_cast<int>(maxLength)))) {
        throwCorrupt("an LZ4 block is larger than its header allows");
      }
      ended_ = length == 0;
      if (ended_) {
        if (compressed != 0 || checksum != 0) throwCorrupt("an empty LZ4 block has bytes");
        continue;
      }
      return block(token & 0xF0, compressed, length, checksum);
    }
  }

 private:
  std::string_view block(int method, uint32_t compressed, uint32_t length, uint32_t checksum) {
    const std::string_view bytes = input_.take(compressed);
    if (bytes.size() < compressed) throwCorrupt("it ends in the middle of an LZ4 block");
    std::string_view block = bytes;
    if (method == kLz4) {
      block_.resize(length);
      const int done = LZ4_decompress_safe(bytes.data(), block_.data(), static_cast<int>(compressed),
                                           static_cast<int>(length));
      if (done != static_cast<int>(length)) throwCorrupt("an LZ4 block cannot be decompressed");
      block = block_;
    } else if (method != kRaw || compressed != length) {
      throwCorrupt("an LZ4 block has an unknown method");
    }
    if (checksumOf(block.data(), block.size()) != checksum)
      throwCorrupt("an LZ4 block's checksum does not match its bytes");
    return block;
  }

  ByteInput input_;
  std::string block_;
  bool ended_ = false;
};

class ZstdDecompressor : public StateDecompressor {
 public:
  explicit ZstdDecompressor(Input input)
      : input_(std::move(input)), context_(ZSTD_createDCtx()), block_(ZSTD_DStreamOutSize(), '\0') {
    // A frame may not ask for more than 128 MB of window.
    ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, 27);
  }

  std::string_view next() override {
    while (true) {
      if (rest_.pos == rest_.size && !full_) {
        const std::string_view piece = input_();
        if (piece.empty() && pending_ != 0) throwCorrupt("it ends in the middle of a zstd frame");
        if (piece.empty()) return {};
        rest_ = {piece.data(), piece.size(), 0};
      }
      ZSTD_outBuffer out{block_.data(), block_.size(), 0};
      pending_ = ZSTD_decompressStream(context_.get(), &out, &rest_);
      if (ZSTD_isError(pending_))
        throwCorrupt(std::string("its zstd stream is broken: ") + ZSTD_getErrorName(pending_));
      full_ = pending_ != 0 && out.pos == out.size;
      if (out.pos > 0) return {block_.data(), out.pos};
    }
  }

 private:
  Input input_;
  std::unique_ptr<ZSTD_DCtx, ZstdStreams> context_;
  std::string block_;
  ZSTD_inBuffer rest_{nullptr, 0, 0};
  size_t pending_ = 1;  // not 0 until a frame has ended
  bool full_ = false;   // the last output filled its buffer inside a frame: more may be waiting
};

std::unique_ptr<StateDecompressor> make(StateCodec codec, Input input) {
  if (codec == StateCodec::Lz4) return std::make_unique<Lz4Decompressor>(std::move(input));
  return std::make_unique<ZstdDecompressor>(std::move(input));
}

}  // namespace

StateCodec stateCodecOf(std::string_view name) {
  const std::string lower = toLowerAscii(name);
  if (lower == "lz4") return StateCodec::Lz4;
  if (lower == "zstd") return StateCodec::Zstd;
  throw unsupported("State files compressed with \"" + std::string(name) + "\" (lz4 and zstd are there)");
}

struct StateCompressor::State {
  StateCodec codec;
  std::vector<char> block, scratch;  // of a block's bytes, and compressed; for LZ4
  size_t pending = 0;                // bytes of the block
  std::string out;
  std::unique_ptr<ZSTD_CCtx, ZstdStreams> context;

  void compressZstd(std::string_view bytes, ZSTD_EndDirective directive) {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    size_t left;
    do {
      const size_t at = out.size();
      out.resize(at + ZSTD_CStreamOutSize());
      ZSTD_outBuffer to{out.data() + at, out.size() - at, 0};
      left = ZSTD_compressStream2(context.get(), &to, &in, directive);
      THALWEG_ASSERT(!ZSTD_isError(left));
      out.resize(at + to.pos);
    } while (directive == ZSTD_e_end ? left != 0 : in.pos < in.size);
  }
};

StateCompressor::StateCompressor(StateCodec codec) : state_(std::make_unique<State>()) {
  state_->codec = codec;
  if (codec == StateCodec::Zstd) {
    state_->context.reset(ZSTD_createCCtx());
  } else {
    state_->block.resize(kBlockBytes);
    state_->scratch.resize(static_cast<size_t>(LZ4_compressBound(kBlockBytes)));
  }
}

StateCompressor::~StateCompressor() = default;

void StateCompressor::append(std::string_view bytes) {
  if (state_->codec == StateCodec::Zstd) return state_->compressZstd(bytes, ZSTD_e_continue);
  State& state = *state_;
  while (!bytes.empty()) {
    const size_t taken = std::min(bytes.size(), kBlockBytes - state.pending);
    std::memcpy(state.block.data() + state.pending, bytes.data(), taken);
    state.pending += taken;
    bytes.remove_prefix(taken);
    if (state.pending == kBlockBytes) flushBlock();
  }
}

void StateCompressor::flushBlock() {
  State& state = *state_;
  appendBlock({state.block.data(), state.pending}, state.scratch, &state.out);
  state.pending = 0;
}

std::string StateCompressor::finish() {
  if (state_->codec == StateCodec::Zstd) {
    state_->compressZstd({}, ZSTD_e_end);
  } else {
    if (state_->pending > 0) flushBlock();
    appendHeader(kRaw, 0, 0, 0, &state_->out);
  }
  return std::move(state_->out);
}

std::unique_ptr<StateDecompressor> openStateDecompressor(StateCodec codec,
                                                         std::shared_ptr<arrow::io::RandomAccessFile> file,
                                                         std::string path) {
  auto position = std::make_shared<int64_t>(0);
  auto buffer = std::make_shared<std::shared_ptr<arrow::Buffer>>();
  return make(codec, [file, position, buffer, path = std::move(path)]() -> std::string_view {
    auto piece = file->ReadAt(*position, kReadBytes);
    throwIfStorageFailed(piece.status(), "read", path);
    *buffer = *std::move(piece);
    *position += (*buffer)->size();
    return {reinterpret_cast<const char*>((*buffer)->data()), static_cast<size_t>((*buffer)->size())};
  });
}

std::unique_ptr<StateDecompressor> openStateDecompressor(StateCodec codec, std::string_view bytes) {
  return make(codec, [bytes]() mutable { return std::exchange(bytes, {}); });
}

}  // namespace thalweg
