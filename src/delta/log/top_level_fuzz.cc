// Any text as a V2 checkpoint's top level in lines, beside one sound sidecar ("_sidecars/s.parquet", three
// files): actions or an Error, by each of the ways in which a checkpoint is read.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "common/error.h"
#include "delta/checkpoint/checkpoint_file.h"
#include "delta/log/checkpoint_reader.h"
#include "delta/snapshot/file_record.h"
#include "storage/file_system.h"

namespace {

using namespace thalweg;
using namespace thalweg::delta;

constexpr const char* kLog = "/t/_delta_log";
constexpr const char* kFile = "/t/_delta_log/00000000000000000010.checkpoint.u.json";

std::string sidecar() {
  const auto files = makeMemoryFileSystem();
  CheckpointFile file(*files, "/s", CheckpointColumns(), CheckpointContent::Files,
                      CheckpointFile::Publication::AtClose);
  for (const char* path : {"a", "b", "c"}) {
    AddFile add;
    add.path = path;
    file.write(fieldsOf(add));
  }
  file.close();
  return files->readAll("/s");
}

template <typename Read>
void orError(const Read& read) {
  try {
    read();
  } catch (const Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string kSidecar = sidecar();
  const auto files = makeMemoryFileSystem();
  files->writeAtomically(kFile, {reinterpret_cast<const char*>(data), size});
  files->writeAtomically(std::string(kLog) + "/_sidecars/s.parquet", kSidecar);
  FileInfo info;
  info.path = kFile;
  info.sizeBytes = static_cast<int64_t>(size);
  const CheckpointFiles checkpoint{10, {info}};
  const ActionSink actions = [](Action&&) {};
  const FileSink adds = [](const FileFields& file) { THALWEG_ASSERT(!file.path.empty()); };
  orError([&] { readCheckpoint(files, kLog, checkpoint, actions, adds); });
  orError([&] { readCheckpointState(*files, checkpoint, actions); });
  orError([&] {
    readCheckpointAdds(*files, kLog, checkpoint, adds, [](const ParquetRowGroup&) { return true; });
  });
  orError([&] {
    for (const std::string& name : sidecarNames(*files, checkpoint))
      THALWEG_ASSERT(name.find('/') == std::string::npos);
  });
  return 0;
}
