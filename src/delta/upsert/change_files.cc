#include "delta/upsert/change_files.h"

#include <arrow/array.h>
#include <arrow/array/builder_binary.h>
#include <arrow/record_batch.h>

#include "delta/files/deletion_vector_writer.h"
#include "delta/scan/data_file_reader.h"
#include "types/arrow_result.h"

namespace thalweg::delta {
namespace {

// A vector that leaves just these rows of a file.
DeletionVector allBut(const std::vector<int64_t>& rows, int64_t numRows) {
  std::vector<int64_t> others;
  others.reserve(static_cast<size_t>(numRows));
  size_t next = 0;
  for (int64_t row = 0; row < numRows; ++row) {
    if (next < rows.size() && rows[next] == row)
      ++next;
    else
      others.push_back(row);
  }
  return inlineDeletionVector(*DeletedRows::none()->with(others));
}

}  // namespace

ChangeFiles::ChangeFiles(TableLayoutPtr reading, const DataFileLayout& writing, std::vector<int> keyColumns,
                         const KeyHasher& hasher)
    : reading_(std::move(reading)), writing_(writing), keyColumns_(std::move(keyColumns)), hasher_(hasher) {}

ChangeFiles::~ChangeFiles() {
  if (!handedOver_) discard();
}

void ChangeFiles::discard() noexcept {
  removeUncommitted(writing_.table, written_);
  written_.clear();
}

void ChangeFiles::write(const std::vector<LocatedRows>& earlier, const std::vector<AddFile>& files) {
  ChangeWriter writer(writing_, 0);
  for (const LocatedRows& located : earlier) {
    AddFile file = located.file;
    file.deletionVector.reset();
    if (static_cast<int64_t>(located.rows.size()) < located.numRows)
      file.deletionVector = allBut(located.rows, located.numRows);
    writeRows(file, Side::Earlier, writer);
  }
  for (const AddFile& file : files) writeRows(file, Side::New, writer);
  written_ = writer.finish();
}

void ChangeFiles::writeRows(const AddFile& file, Side side, ChangeWriter& writer) {
  DataFileReadOptions options;
  const auto numColumns = static_cast<int>(reading_->schema->fields().size());
  for (int i = 0; i < numColumns; ++i) options.columns.push_back(i);
  DataFileReader reader(reading_, file, options);
  std::vector<KeyHash> hashes;
  while (const auto rows = reader.next()) {
    std::vector<std::shared_ptr<arrow::Array>> keys;
    for (const int column : keyColumns_) keys.push_back(rows->column(column));
    hashes.clear();
    hasher_.hash(keys, rows->num_rows(), &hashes);
    arrow::StringBuilder types;
    for (const KeyHash& hash : hashes) {
      if (side == Side::Earlier)
        throwIfFailed(types.Append(replaced_.insert(hash).second ? kChangePreimage : kChangeDelete));
      else
        throwIfFailed(types.Append(replaced_.contains(hash) ? kChangePostimage : kChangeInsert));
    }
    writer.write(rows, valueOrThrow(types.Finish()));
  }
}

std::vector<Action> ChangeFiles::actions() const {
  return changeActions(written_);
}

}  // namespace thalweg::delta
