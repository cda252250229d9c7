#include "sources/state/committed_batches.h"

#include <algorithm>
#include <charconv>

#include "common/error.h"

namespace thalweg {

CommittedBatches committedBatches(const Location& checkpoint) {
  std::optional<CommittedBatches> found;
  for (const FileInfo& file : checkpoint.fileSystem->list(checkpoint.path + "/commits")) {
    const std::string_view name = file.name();
    int64_t batch = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), batch);
    if (error != std::errc() || end != name.data() + name.size() || batch < 0) continue;
    if (!found) found = CommittedBatches{batch, batch};
    found->first = std::min(found->first, batch);
    found->last = std::max(found->last, batch);
  }
  if (found) return *found;
  throw Error("STDS_COMMITTED_BATCH_UNAVAILABLE",
              "No batch of the checkpoint in " + checkpoint.uri() +
                  " is committed. Let the query commit one before its state is read.",
              {{"checkpointLocation", checkpoint.uri()}});
}

Location checkpointOf(const ReadDefinition& read, const FileSystemRegistry& files) {
  if (read.paths.size() == 1) return files.resolve(read.paths[0]);
  throw Error("STDS_REQUIRED_OPTION_UNSPECIFIED",
              "Reading state takes one path, the checkpoint's: load(path).", {{"optionName", "path"}});
}

}  // namespace thalweg
