#include "delta/maintain/merged_file.h"

#include <algorithm>

namespace thalweg::delta {

MergedFile::MergedFile(std::vector<AddFile> inputs, TableLayoutPtr layout, FileRewrite& rewrite)
    : inputs_(std::move(inputs)), layout_(std::move(layout)) {
  output_ = rewrite.merge(inputs_, /*dataChange=*/false, &numRows_);
}

std::optional<MergedFile::Carried> MergedFile::carry(const LiveFiles& live) const {
  Carried carried;
  std::vector<int64_t> deleted;
  int64_t firstRow = 0;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const auto now = live.find(inputs_[i].path);
    if (now == live.end() || !carryDeletes(inputs_[i], now->second, firstRow, &deleted)) return std::nullopt;
    carried.removed.push_back(now->second);
    firstRow += numRows_[i];
  }
  if (!output_ || static_cast<int64_t>(deleted.size()) == firstRow) return carried;
  carried.output = output_;
  if (!deleted.empty()) carried.deleted = DeletedRows::none()->with(deleted);
  return carried;
}

// The output's rows are the input's live ones in their order: a row's place there is its rank among them.
bool MergedFile::carryDeletes(const AddFile& before, const AddFile& now, int64_t firstRow,
                              std::vector<int64_t>* deleted) const {
  if (before.deletionVector == now.deletionVector) return true;
  const std::vector<int64_t> then = vectorOf(before)->rows();
  const std::vector<int64_t> later = vectorOf(now)->rows();
  size_t known = 0;
  for (const int64_t row : later) {
    if (known < then.size() && then[known] == row) {
      ++known;
      continue;
    }
    if (known < then.size() && then[known] < row) return false;
    deleted->push_back(firstRow + row - static_cast<int64_t>(known));
  }
  return known == then.size();
}

std::shared_ptr<const DeletedRows> MergedFile::vectorOf(const AddFile& file) const {
  if (!file.deletionVector) return DeletedRows::none();
  return readDeletionVector(layout_->table, *file.deletionVector, [this](std::string_view address) {
    return locateFile(*layout_, std::string(address));
  });
}

}  // namespace thalweg::delta
