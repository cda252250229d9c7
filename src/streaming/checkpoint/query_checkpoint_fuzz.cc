// Any bytes as the files of a query's checkpoint: they are read or refused with an Error that names the file,
// and an offset entry that was read survives writing.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "common/error.h"
#include "streaming/checkpoint/checkpoint.h"

using namespace thalweg;

namespace {

// The input is cut at its first two zero bytes: metadata, offsets/0, commits/0.
std::string_view takePart(std::string_view* rest) {
  const size_t end = rest->find('\0');
  const std::string_view part = rest->substr(0, end);
  rest->remove_prefix(end == std::string_view::npos ? rest->size() : end + 1);
  return part;
}

void mustNameTheCheckpoint(const Error& error) {
  if (error.text().find("/checkpoint") == std::string::npos) std::abort();
}

void readFolder(std::string_view metadata, std::string_view offsets, std::string_view commit) {
  const Location folder{makeMemoryFileSystem(), "/checkpoint"};
  folder.fileSystem->writeAtomically("/checkpoint/metadata", metadata);
  folder.fileSystem->writeAtomically("/checkpoint/offsets/0", offsets);
  folder.fileSystem->writeAtomically("/checkpoint/commits/0", commit);
  try {
    const Checkpoint checkpoint(folder);
    try {
      checkpoint.readOffsets(0);
    } catch (const Error& error) {
      mustNameTheCheckpoint(error);
    }
    checkpoint.readCommit(0);
  } catch (const Error& error) {
    mustNameTheCheckpoint(error);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  const std::string_view metadata = takePart(&rest);
  const std::string_view offsets = takePart(&rest);
  readFolder(metadata, offsets, rest);
  try {
    const std::string text = formatOffsetEntry(parseOffsetEntry(std::string(offsets), "fuzz"));
    if (formatOffsetEntry(parseOffsetEntry(text, "fuzz")) != text) std::abort();
  } catch (const Error&) {
  }
  return 0;
}
