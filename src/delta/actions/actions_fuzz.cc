// Any bytes as a commit: they are read or refused with an Error, and what was read survives writing and
// packing.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "common/error.h"
#include "delta/actions/action_reader.h"
#include "delta/actions/action_writer.h"
#include "delta/log/version_checksum.h"
#include "delta/snapshot/file_record.h"

using namespace thalweg;
using namespace thalweg::delta;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  parseChecksum(text);
  std::vector<Action> actions;
  try {
    actions = readActions(text, "fuzz");
  } catch (const Error&) {
    return 0;
  }
  const std::string written = toCommitText(actions);
  if (toCommitText(readActions(written, "fuzz")) != written) std::abort();
  for (const Action& action : actions) {
    std::string packed;
    if (const auto* info = std::get_if<CommitInfo>(&action)) readCommitInfoFields(*info);
    if (const auto* add = std::get_if<AddFile>(&action)) {
      packFile(fieldsOf(*add), packed);
      AddFile again = FileRecord(packed.data()).toAdd();
      again.dataChange = add->dataChange;
      if (toJsonLine(again) != toJsonLine(*add)) std::abort();
    }
    if (const auto* remove = std::get_if<RemoveFile>(&action)) {
      packFile(fieldsOf(*remove), packed);
      if (FileRecord(packed.data()).toRemove().path != remove->path) std::abort();
    }
  }
  return 0;
}
