// Any bytes as a path pattern and a name: matched or refused with an Error, in bounded time.
#include <cstdint>
#include <string>
#include <string_view>

#include "common/error.h"
#include "sources/files/glob.h"
#include "storage/file_uri.h"

using namespace thalweg;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t newline = input.find('\n');
  const std::string_view pattern = input.substr(0, newline);
  const std::string_view name =
      newline == std::string_view::npos ? std::string_view() : input.substr(newline + 1);
  const auto files = makeMemoryFileSystem();
  files->writeAtomically("/data/day=1/a.json", "");
  files->writeAtomically("/data/_hidden/b.json", "");
  try {
    GlobPattern(pattern).matches(name);
  } catch (const Error&) {
  }
  try {
    if (isGlob(pattern)) expandGlob(*files, "/data/" + std::string(pattern));
  } catch (const Error&) {
  }
  fileUri(*files, name);
  shortFileUri(*files, name);
  return 0;
}
