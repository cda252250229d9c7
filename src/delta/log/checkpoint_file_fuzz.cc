// Any bytes as a checkpoint's Parquet file, and as a data file: actions and rows, or an Error that names the
// file. The mutator keeps the frame (magic, footer, the footer's length), so that damage reaches what lies
// behind it.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <arrow/record_batch.h>

#include "common/error.h"
#include "delta/log/checkpoint_reader.h"
#include "formats/parquet/parquet_file.h"
#include "storage/file_system.h"

using namespace thalweg;
using namespace thalweg::delta;

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t maxSize) __attribute__((weak));

namespace {

constexpr const char* kLog = "/table/_delta_log";
constexpr const char* kFile = "/table/_delta_log/00000000000000000010.checkpoint.parquet";
constexpr size_t kMagicBytes = 4;
constexpr size_t kTailBytes = 8;  // the footer's length and the magic again

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::abort();
}

void mustNameTheFile(const Error& error) {
  if (error.condition().starts_with("UNSUPPORTED_FEATURE")) return;
  if (error.text().find("checkpoint.parquet") == std::string::npos)
    fail("it names no file: " + error.message());
}

void readAsCheckpoint(const std::shared_ptr<FileSystem>& files, size_t size) {
  FileInfo info;
  info.path = kFile;
  info.sizeBytes = static_cast<int64_t>(size);
  try {
    readCheckpoint(
        files, kLog, CheckpointFiles{10, {info}}, [](Action&&) {}, [](const FileFields&) {});
  } catch (const Error& error) {
    mustNameTheFile(error);
  }
}

void readAsData(FileSystem& files) {
  try {
    ParquetFileReader reader(files, kFile, readParquetSchema(files, kFile));
    int64_t rows = 0;
    while (const auto batch = reader.next().rows) {
      rows += batch->num_rows();
      const auto status = batch->Validate();
      if (!status.ok()) fail("an unsound batch: " + status.ToString());
    }
    if (rows != reader.numRows()) fail("rows are missing");
  } catch (const Error& error) {
    mustNameTheFile(error);
  }
}

uint32_t random(unsigned int* seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return *seed >> 8;
}

// Where the footer begins; 0 where the bytes have no frame.
size_t footerOf(const uint8_t* data, size_t size) {
  if (size < kMagicBytes + kTailBytes) return 0;
  uint32_t length = 0;
  std::memcpy(&length, data + size - kTailBytes, sizeof length);
  return length <= size - kMagicBytes - kTailBytes ? size - kTailBytes - length : 0;
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t maxSize, unsigned int seed) {
  const size_t footer = footerOf(data, size);
  if (footer == 0 || !LLVMFuzzerMutate)
    return LLVMFuzzerMutate ? LLVMFuzzerMutate(data, size, maxSize) : size;
  if (random(&seed) % 3 == 0 && footer > kMagicBytes) {
    // A few bytes of a page or its header, in place: the footer's offsets stay right.
    const size_t at = kMagicBytes + random(&seed) % (footer - kMagicBytes);
    const size_t length = std::min<size_t>(1 + random(&seed) % 16, footer - at);
    const std::vector<uint8_t> before(data + at, data + at + length);
    std::vector<uint8_t> bytes(before);
    const size_t mutated = LLVMFuzzerMutate(bytes.data(), length, length);
    std::memcpy(data + at, bytes.data(), std::min(mutated, length));
    return size;
  }
  std::vector<uint8_t> bytes(data + footer, data + size - kTailBytes);
  const size_t room = maxSize - std::min(maxSize, footer + kTailBytes);
  if (bytes.empty() || room < bytes.size()) return size;
  const size_t length = bytes.size();
  bytes.resize(room);
  const auto mutated = static_cast<uint32_t>(LLVMFuzzerMutate(bytes.data(), length, room));
  std::memcpy(data + footer, bytes.data(), mutated);
  std::memcpy(data + footer + mutated, &mutated, sizeof mutated);
  std::memcpy(data + footer + mutated + sizeof mutated, "PAR1", kMagicBytes);
  return footer + mutated + kTailBytes;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto files = makeMemoryFileSystem();
  files->writeAtomically(kFile, {reinterpret_cast<const char*>(data), size});
  readAsCheckpoint(files, size);
  readAsData(*files);
  return 0;
}
