#include "storage/resolved_put.h"

#include "common/error.h"

namespace thalweg {
namespace {

constexpr int kMaxPuts = 3;

}  // namespace

PutOutcome putIfAbsentResolved(FileSystem& fileSystem, const std::string& path, std::string_view contents,
                               const std::function<void()>& temporaryWritten) {
  bool answerLost = false;
  for (int put = 0; put < kMaxPuts; ++put) {
    const PutOutcome outcome = fileSystem.putIfAbsent(path, contents, temporaryWritten);
    if (outcome == PutOutcome::Done) return outcome;
    // After a lost answer the file that exists already may be ours.
    if (outcome == PutOutcome::AlreadyExists && !answerLost) return outcome;
    answerLost = true;
    if (!fileSystem.stat(path)) continue;
    if (fileSystem.readAll(path) != contents) return PutOutcome::AlreadyExists;
    fileSystem.sync(path);
    return PutOutcome::Done;
  }
  throw Error("STORAGE_FAILURE",
              "The file " + path + " could not be created: the store lost its answer " + std::to_string(kMaxPuts) +
                  " times and the file is not there. Check the store and run it again.",
              {{"path", path}});
}

}  // namespace thalweg
