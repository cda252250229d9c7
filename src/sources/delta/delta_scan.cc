#include "sources/delta/delta_scan.h"

#include <algorithm>
#include <thread>

#include "common/options.h"
#include "delta/snapshot/feed_columns.h"
#include "delta/snapshot/table_features.h"
#include "sources/delta/delta_file_reader.h"
#include "sources/delta/delta_metadata_column.h"

namespace thalweg {
namespace {

constexpr int64_t kMaxSplitBytes = 128 << 20;
constexpr int64_t kOpenCostBytes = 4 << 20;

using FilesPtr = std::shared_ptr<const std::vector<delta::ChangedFile>>;

class DeltaReader final : public BatchReader {
 public:
  DeltaReader(DeltaScanPtr scan, FilesPtr files, size_t first, size_t last, const ReadRequest& request)
      : scan_(std::move(scan)), files_(std::move(files)), next_(first), last_(last), request_(request) {}

  std::shared_ptr<arrow::RecordBatch> next() override {
    while (true) {
      if (!reader_) {
        if (next_ == last_) return nullptr;
        reader_.emplace(scan_, (*files_)[next_++], request_);
      }
      if (auto batch = reader_->next()) return batch;
      reader_.reset();
    }
  }

 private:
  DeltaScanPtr scan_;
  FilesPtr files_;
  size_t next_;
  size_t last_;
  ReadRequest request_;
  std::optional<DeltaFileReader> reader_;
};

class DeltaSplit final : public Split {
 public:
  DeltaSplit(DeltaScanPtr scan, FilesPtr files, size_t first, size_t last)
      : scan_(std::move(scan)), files_(std::move(files)), first_(first), last_(last) {}

  std::unique_ptr<BatchReader> open(const ReadRequest& request) const override {
    return std::make_unique<DeltaReader>(scan_, files_, first_, last_, request);
  }

 private:
  DeltaScanPtr scan_;
  FilesPtr files_;
  size_t first_;
  size_t last_;
};

}  // namespace

std::vector<StructField> changeColumns() {
  return {{std::string(delta::kChangeTypeColumn), stringType(), true, ""},
          {std::string(delta::kCommitVersionColumn), longType(), true, ""},
          {std::string(delta::kCommitTimestampColumn), timestampType(), true, ""}};
}

DeltaScanPtr DeltaScan::make(const delta::TableLayoutPtr& table, const delta::Metadata& metadata,
                             Columns columns) {
  auto scan = std::make_shared<DeltaScan>();
  scan->changes = columns == Columns::Changes;
  std::vector<StructField> fields = table->schema->fields();
  scan->tableColumns = static_cast<int>(fields.size());
  std::vector<StructField> stored;
  if (scan->changes) {
    for (StructField& field : changeColumns()) fields.push_back(std::move(field));
    scan->visibleColumns = static_cast<int>(fields.size());
    scan->storedChangeType = scan->tableColumns;
    stored.push_back(changeColumns()[0]);
  } else {
    scan->visibleColumns = scan->tableColumns;
  }
  const bool taken = table->schema->fieldIndex(kDeltaMetadataColumn, /*caseSensitive=*/false) >= 0;
  if (columns == Columns::TableAndMetadata && !taken) {
    scan->rowTracking = delta::tableFlag(metadata, delta::kRowTracking);
    fields.push_back({std::string(kDeltaMetadataColumn), deltaMetadataType(scan->rowTracking), false, ""});
  }
  scan->layout = stored.empty() ? table : delta::withStoredColumns(*table, stored);
  scan->schema = DataType::structOf(std::move(fields));
  return scan;
}

std::vector<SplitPtr> splitDeltaFiles(const DeltaScanPtr& scan, std::vector<delta::ChangedFile> files) {
  int64_t total = 0;
  for (const delta::ChangedFile& file : files) total += file.file.size + kOpenCostBytes;
  const int64_t cores = std::max(1U, std::thread::hardware_concurrency());
  const int64_t target = std::clamp(total / cores, kOpenCostBytes, kMaxSplitBytes);
  const auto shared = std::make_shared<const std::vector<delta::ChangedFile>>(std::move(files));
  std::vector<SplitPtr> splits;
  size_t first = 0;
  int64_t bytes = 0;
  for (size_t i = 0; i < shared->size(); ++i) {
    const int64_t cost = (*shared)[i].file.size + kOpenCostBytes;
    if (i > first && bytes + cost > target) {
      splits.push_back(std::make_shared<DeltaSplit>(scan, shared, first, i));
      first = i;
      bytes = 0;
    }
    bytes += cost;
  }
  if (first < shared->size())
    splits.push_back(std::make_shared<DeltaSplit>(scan, shared, first, shared->size()));
  return splits;
}

}  // namespace thalweg
