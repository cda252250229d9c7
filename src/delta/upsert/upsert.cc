#include "delta/upsert/upsert.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>

#include "common/error.h"

namespace thalweg::delta {
namespace {

int columnOf(const Schema& schema, const std::string& name) {
  const int index = schema.fieldIndex(name, /*caseSensitive=*/false);
  if (index < 0) throw internalError("The table has no column " + name + " to find its rows by.");
  return index;
}

std::vector<int> columnsOf(const Schema& schema, const std::vector<std::string>& names) {
  std::vector<int> columns;
  for (const std::string& name : names) columns.push_back(columnOf(schema, name));
  return columns;
}

std::vector<DataTypePtr> typesOf(const Schema& schema, const std::vector<std::string>& names) {
  std::vector<DataTypePtr> types;
  for (const int column : columnsOf(schema, names))
    types.push_back(schema.fields()[static_cast<size_t>(column)].type);
  return types;
}

void refuseEmptyText(const arrow::Array& column, const std::string& name) {
  if (column.type_id() != arrow::Type::STRING) return;
  const auto& texts = static_cast<const arrow::StringArray&>(column);
  for (int64_t row = 0; row < texts.length(); ++row) {
    if (texts.IsNull(row) || texts.value_length(row) > 0) continue;
    throw unsupported(
        "an empty text in column " + name +
        ", which is a grouping key and partitions the Delta table (the table would not tell it from null; "
        "replace it in the query, or partition by another column)");
  }
}

}  // namespace

UpsertKey::UpsertKey(const Schema& table, const std::vector<std::string>& names, int64_t maxIndexBytes)
    : names_(names), hasher_(typesOf(table, names)), locator_(maxIndexBytes) {}

Upsert::Upsert(std::shared_ptr<UpsertKey> key, TableLayoutPtr layout, std::optional<DataFileLayout> changes)
    : key_(std::move(key)),
      layout_(std::move(layout)),
      columns_(columnsOf(*layout_->schema, key_->names())),
      leaves_(keyLeaves(*layout_, columns_)),
      keys_(leaves_),
      changeLayout_(std::move(changes)) {}

Upsert::~Upsert() = default;

Upsert::Task::Task(Upsert& upsert) : upsert_(upsert), keys_(upsert.leaves_) {}

void Upsert::Task::write(PartitionedWriter& writer, const std::shared_ptr<arrow::RecordBatch>& rows) {
  std::vector<std::shared_ptr<arrow::Array>> columns;
  for (const int index : upsert_.columns_) {
    columns.push_back(rows->column(index));
    if (upsert_.layout_->isPartitionColumn(index))
      refuseEmptyText(*columns.back(), rows->schema()->field(index)->name());
  }
  batch_.clear();
  upsert_.key_->hasher().hash(columns, rows->num_rows(), &batch_);
  keys_.add(columns, batch_);
  writer.write(rows, [&](const PlacedRows& placed) {
    std::vector<KeyHash>& file = files_[placed.logPath];
    for (int64_t i = placed.first; i < placed.first + placed.count; ++i) {
      file.push_back(batch_[static_cast<size_t>(placed.rows ? (*placed.rows)[static_cast<size_t>(i)] : i)]);
    }
  });
}

void Upsert::Task::close() {
  std::map<std::string, std::shared_ptr<const KeyIndex>> indexes;
  for (const auto& [path, hashes] : files_) indexes.emplace(path, std::make_shared<const KeyIndex>(hashes));
  const std::lock_guard lock(upsert_.mutex_);
  upsert_.keys_.merge(std::move(keys_));
  upsert_.written_.merge(indexes);
}

RemovalMetrics Upsert::plan(Transaction& transaction, const std::vector<AddFile>& files, int64_t nowMs) {
  if (!finished_) keys_.finish();
  finished_ = true;
  discard();  // what was made over a version that others have gone past
  RemovalMetrics metrics;
  const SnapshotPtr& snapshot = transaction.readSnapshot();
  if (snapshot && !keys_.hashes().empty()) {
    transaction.readMatching(
        [this](const AddFile& file) { return keys_.mayBeIn(leafBounds(leaves_, file)); });
    const auto earlier = key_->locator().locate(*snapshot, layout_, columns_, leaves_, key_->hasher(), keys_);
    removal_ = std::make_unique<RowRemoval>(*snapshot);
    removal_->remove(transaction, earlier, nowMs);
    metrics = removal_->metrics();
    // Where rows only come, readers of changes take them from the data files.
    if (changeLayout_ && !earlier.empty()) {
      changes_ = std::make_unique<ChangeFiles>(layout_, *changeLayout_, columns_, key_->hasher());
      changes_->write(earlier, files);
      std::vector<Action> actions = changes_->actions();
      metrics.numAddedChangeFiles = static_cast<int64_t>(actions.size());
      transaction.addFileActions(std::move(actions));
      changes_->handOver();
    }
    removal_->handOver();
  }
  for (const AddFile& file : files) transaction.add(file);
  return metrics;
}

void Upsert::discard() noexcept {
  if (removal_) removal_->discard();
  if (changes_) changes_->discard();
  removal_.reset();
  changes_.reset();
}

void Upsert::committed() {
  for (auto& [path, index] : written_) key_->locator().adopt(path, std::move(index));
  written_.clear();
}

}  // namespace thalweg::delta
