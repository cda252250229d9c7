#include "sinks/files/file_tasks.h"

#include <algorithm>

#include <arrow/record_batch.h>

namespace thalweg {

class FileTasks::Task final : public TaskWriter {
 public:
  Task(FileTasks& tasks, int taskId) : tasks_(tasks), output_(tasks.layout_, tasks.folder_, taskId) {}

  void write(const std::shared_ptr<arrow::RecordBatch>& batch) override {
    output_.write(batch);
    numRows_ += batch->num_rows();
  }

  void close() override {
    std::vector<WrittenFile> files = output_.close();
    const std::lock_guard lock(tasks_.mutex_);
    tasks_.files_.insert(tasks_.files_.end(), files.begin(), files.end());
    tasks_.numRows_ += numRows_;
  }

 private:
  FileTasks& tasks_;
  FileTaskOutput output_;
  int64_t numRows_ = 0;
};

FileTasks::FileTasks(std::shared_ptr<const FileLayout> layout, Location folder)
    : layout_(std::move(layout)), folder_(std::move(folder)) {}

std::unique_ptr<TaskWriter> FileTasks::open(int taskId) {
  return std::make_unique<Task>(*this, taskId);
}

std::vector<WrittenFile> FileTasks::finish() {
  if (files_.empty() && layout_->partitionColumns.empty()) {
    FileTaskOutput empty(layout_, folder_, 0);
    empty.writeEmptyFile();
    files_ = empty.close();
  }
  // Names begin with the task's number.
  std::sort(files_.begin(), files_.end(), [](const WrittenFile& left, const WrittenFile& right) {
    return left.relativePath < right.relativePath;
  });
  return files_;
}

}  // namespace thalweg
