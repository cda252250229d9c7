#include "sources/files/file_scan.h"

#include <algorithm>
#include <thread>

#include <arrow/api.h>

#include "common/error.h"
#include "common/logging.h"
#include "common/options.h"
#include "storage/file_uri.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

constexpr int64_t kMaxSplitBytes = 128 << 20;
constexpr int64_t kOpenCostBytes = 4 << 20;
constexpr int64_t kFirstRows = 1024;  // of a file whose rows' size is not known yet

using ScanPtr = std::shared_ptr<const FileScan>;
using FilesPtr = std::shared_ptr<const std::vector<ScannedFile>>;

std::shared_ptr<arrow::Array> constantColumn(const arrow::Scalar& value, int64_t rows,
                                             arrow::MemoryPool* pool) {
  return valueOrThrow(arrow::MakeArrayFromScalar(value, rows, pool));
}

std::shared_ptr<arrow::Array> rowIndexes(int64_t first, int64_t rows, arrow::MemoryPool* pool) {
  arrow::Int64Builder builder(pool);
  throwIfFailed(builder.Reserve(rows));
  for (int64_t row = 0; row < rows; ++row) builder.UnsafeAppend(first + row);
  return valueOrThrow(builder.Finish());
}

std::shared_ptr<arrow::Array> metadataColumn(const ScannedFile& file, const DataType& sparkType,
                                             int64_t firstRow, int64_t rows, arrow::MemoryPool* pool) {
  const auto type = toArrowType(sparkType);
  const std::string uri = shortFileUri(*file.location.fileSystem, file.location.path);
  const std::shared_ptr<arrow::Scalar> values[] = {
      std::make_shared<arrow::StringScalar>(uri),
      std::make_shared<arrow::StringScalar>(uri.substr(uri.rfind('/') + 1)),
      std::make_shared<arrow::Int64Scalar>(file.sizeBytes),
      std::make_shared<arrow::Int64Scalar>(0),
      std::make_shared<arrow::Int64Scalar>(file.sizeBytes),
      std::make_shared<arrow::TimestampScalar>(file.modificationTimeMs * 1000, type->field(5)->type())};
  arrow::ArrayVector children;
  for (const auto& value : values) children.push_back(constantColumn(*value, rows, pool));
  if (type->num_fields() > static_cast<int>(children.size()))
    children.push_back(rowIndexes(firstRow, rows, pool));
  return std::make_shared<arrow::StructArray>(type, rows, std::move(children));
}

class FileScanReader final : public BatchReader {
 public:
  FileScanReader(ScanPtr scan, FilesPtr files, const ReadRequest& request)
      : scan_(std::move(scan)),
        files_(std::move(files)),
        request_(request),
        pool_(request.memoryPool ? request.memoryPool : arrow::default_memory_pool()) {
    for (const int column : request.columns) {
      const FileColumns::Source& source = scan_->columns.sources.at(static_cast<size_t>(column));
      if (source.origin == FileColumns::Origin::File) dataColumns_.push_back(source.index);
      fields_.push_back(toArrowField(scan_->columns.schema->fields().at(static_cast<size_t>(column))));
    }
    std::sort(dataColumns_.begin(), dataColumns_.end());
    dataColumns_.erase(std::unique(dataColumns_.begin(), dataColumns_.end()), dataColumns_.end());
    open_ = scan_->format->prepare({scan_->columns.dataSchema, dataColumns_, scan_->predicates,
                                    request.maxBatchRows, request.maxBatchBytes, pool_});
  }

  std::shared_ptr<arrow::RecordBatch> next() override {
    for (;;) {
      if (request_.cancellation) request_.cancellation->throwIfCancelled();
      if (!records_ && !openNext()) return nullptr;
      if (auto batch = nextOfFile()) return assemble(*batch);
      records_.reset();
    }
  }

 private:
  const ScannedFile& file() const { return (*files_)[nextFile_ - 1]; }

  // False at the end.
  bool openNext() {
    while (nextFile_ < files_->size()) {
      const ScannedFile& opening = (*files_)[nextFile_++];
      if (opening.sizeBytes == 0) continue;
      try {
        records_ = open_(opening.location);
      } catch (const Error& error) {
        endFile(error);
        continue;
      }
      rows_ = std::min(kFirstRows, request_.maxBatchRows);
      rowsRead_ = 0;
      return true;
    }
    return false;
  }

  std::shared_ptr<arrow::RecordBatch> nextOfFile() {
    try {
      auto batch = records_->next(std::max<int64_t>(rows_, 1));
      if (batch) adaptRows(batch->num_rows());
      return batch;
    } catch (const Error& error) {
      endFile(error);
      return nullptr;
    }
  }

  // Batches of about the asked-for bytes, by what the file's rows have taken so far.
  void adaptRows(int64_t rows) {
    rowsRead_ += rows;
    const int64_t bytes = std::max<int64_t>(records_->bytesTaken(), 1);
    const int64_t fitting = static_cast<int64_t>(static_cast<double>(request_.maxBatchBytes) *
                                                 static_cast<double>(rowsRead_) / static_cast<double>(bytes));
    rows_ = std::clamp<int64_t>(fitting, 1, request_.maxBatchRows);
  }

  // Passes over the file's rest where the options say so, else throws an error that names it.
  void endFile(const Error& error) {
    records_.reset();
    const std::string uri = fileUri(*file().location.fileSystem, file().location.path);
    const std::string& condition = error.condition();
    if (condition == "OPERATION_CANCELED" || condition == "OUT_OF_MEMORY" ||
        condition.starts_with("UNSUPPORTED_FEATURE") || condition == "INTERNAL_ERROR" ||
        condition.starts_with("INCONSISTENT_BEHAVIOR_CROSS_VERSION")) {
      throw error;
    }
    if (condition == "PATH_NOT_FOUND") {
      if (scan_->ignoreMissingFiles) return logWarn("the file {} is gone and passed over", uri);
      throw Error("FAILED_READ_FILE.FILE_NOT_EXIST",
                  "The file " + uri +
                      " does not exist any more. Bring it back, or set the option ignoreMissingFiles to go "
                      "on without it.",
                  {{"path", uri}});
    }
    if (scan_->ignoreCorruptFiles)
      return logWarn("the rest of the file {} is passed over: {}", uri, error.text());
    if (condition.starts_with("FAILED_READ_FILE")) throw error;
    throw Error("FAILED_READ_FILE.NO_HINT", "The file " + uri + " cannot be read: " + error.text(),
                {{"path", uri}})
        .withCause(error);
  }

  std::shared_ptr<arrow::RecordBatch> assemble(const arrow::RecordBatch& data) const {
    const int64_t rows = data.num_rows();
    arrow::ArrayVector arrays;
    for (const int column : request_.columns) {
      const auto [origin, index] = scan_->columns.sources[static_cast<size_t>(column)];
      if (origin == FileColumns::Origin::File) {
        const auto place =
            std::lower_bound(dataColumns_.begin(), dataColumns_.end(), index) - dataColumns_.begin();
        arrays.push_back(data.column(static_cast<int>(place)));
      } else if (origin == FileColumns::Origin::Folder) {
        const auto& value = file().partitionValues[static_cast<size_t>(index)];
        arrays.push_back(constantColumn(*value, rows, pool_));
      } else {
        const DataType& type = *scan_->columns.schema->fields()[static_cast<size_t>(column)].type;
        arrays.push_back(metadataColumn(file(), type, records_->firstRowIndex(), rows, pool_));
      }
    }
    return arrow::RecordBatch::Make(arrow::schema(fields_), rows, std::move(arrays));
  }

  const ScanPtr scan_;
  const FilesPtr files_;
  const ReadRequest request_;
  arrow::MemoryPool* pool_;
  std::vector<int> dataColumns_;
  arrow::FieldVector fields_;
  RecordOpener open_;
  size_t nextFile_ = 0;
  std::unique_ptr<FileRecords> records_;
  int64_t rows_ = kFirstRows;
  int64_t rowsRead_ = 0;
};

class FileSplit final : public Split {
 public:
  FileSplit(ScanPtr scan, std::vector<ScannedFile> files)
      : scan_(std::move(scan)), files_(std::make_shared<const std::vector<ScannedFile>>(std::move(files))) {}

  std::unique_ptr<BatchReader> open(const ReadRequest& request) const override {
    return std::make_unique<FileScanReader>(scan_, files_, request);
  }

 private:
  ScanPtr scan_;
  FilesPtr files_;
};

}  // namespace

std::vector<SplitPtr> splitFiles(ScanPtr scan, std::vector<ScannedFile> files) {
  int64_t total = 0;
  for (const ScannedFile& file : files) total += file.sizeBytes + kOpenCostBytes;
  const int64_t cores = std::max<int64_t>(std::thread::hardware_concurrency(), 1);
  const int64_t bound = std::min(kMaxSplitBytes, std::max(kOpenCostBytes, (total + cores - 1) / cores));
  std::vector<SplitPtr> splits;
  std::vector<ScannedFile> group;
  int64_t bytes = 0;
  const auto flush = [&] {
    if (!group.empty()) splits.push_back(std::make_shared<FileSplit>(scan, std::move(group)));
    group.clear();
    bytes = 0;
  };
  for (ScannedFile& file : files) {
    const int64_t cost = file.sizeBytes + kOpenCostBytes;
    if (bytes + cost > bound) flush();
    bytes += cost;
    group.push_back(std::move(file));
  }
  flush();
  return splits;
}

}  // namespace thalweg
