#include "delta/modify/change_writer.h"

#include <arrow/array/util.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <arrow/type.h>

#include "delta/snapshot/feed_columns.h"
#include "types/arrow_result.h"

namespace thalweg::delta {

ChangeWriter::ChangeWriter(const DataFileLayout& dataFiles, int taskId)
    : layout_(changeFileLayout(dataFiles)), writer_(layout_, taskId) {}

ChangeWriter::~ChangeWriter() {
  if (!finished_) writer_.abort();
}

void ChangeWriter::write(const std::shared_ptr<arrow::RecordBatch>& rows, std::string_view type) {
  const arrow::StringScalar value{std::string(type)};
  write(rows, valueOrThrow(arrow::MakeArrayFromScalar(value, rows->num_rows())));
}

void ChangeWriter::write(const std::shared_ptr<arrow::RecordBatch>& rows,
                         std::shared_ptr<arrow::Array> types) {
  if (rows->num_rows() == 0) return;
  const auto field = arrow::field(std::string(kChangeTypeColumn), arrow::utf8());
  writer_.write(valueOrThrow(rows->AddColumn(rows->num_columns(), field, std::move(types))));
}

std::vector<AddFile> ChangeWriter::finish() {
  std::vector<AddFile> files = writer_.close();
  finished_ = true;
  return files;
}

std::vector<Action> changeActions(const std::vector<AddFile>& files) {
  std::vector<Action> actions;
  for (const AddFile& file : files)
    actions.emplace_back(AddCdcFile{file.path, file.partitionValues, file.size, {}});
  return actions;
}

}  // namespace thalweg::delta
