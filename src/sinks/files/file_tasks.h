// The tasks of one file write, whatever becomes of their files.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "connector/sink.h"
#include "sinks/files/file_task_output.h"

namespace thalweg {

// open() may be called from several threads; the rest after all writers closed.
class FileTasks {
 public:
  // Tasks write into `folder`.
  FileTasks(std::shared_ptr<const FileLayout> layout, Location folder);

  std::unique_ptr<TaskWriter> open(int taskId);
  // The files of all tasks, by their tasks; where no row came, one without rows, unless there are partitions.
  std::vector<WrittenFile> finish();
  // Of tasks that closed.
  const std::vector<WrittenFile>& written() const { return files_; }
  int64_t numRows() const { return numRows_; }

 private:
  class Task;

  std::shared_ptr<const FileLayout> layout_;
  Location folder_;
  std::mutex mutex_;
  std::vector<WrittenFile> files_;
  int64_t numRows_ = 0;
};

}  // namespace thalweg
