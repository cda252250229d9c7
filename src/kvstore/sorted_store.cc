#include "kvstore/sorted_store.h"

#include <algorithm>

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/merge_operator.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/checkpoint.h>
#include <rocksdb/write_batch.h>

#include "common/error.h"
#include "kvstore/shared_memory.h"

namespace thalweg {
namespace {

rocksdb::Slice slice(std::string_view bytes) {
  return {bytes.data(), bytes.size()};
}
std::string_view view(const rocksdb::Slice& bytes) {
  return {bytes.data(), bytes.size()};
}

void throwIfFailed(const rocksdb::Status& status, const std::string& path) {
  if (status.ok()) return;
  throw Error("STORAGE_FAILURE", "The state store in " + path + " failed: " + status.ToString() + ".",
              {{"path", path}});
}

// The same joining, under the same name, as the operator that Spark's stores are opened with.
class StringAppend : public rocksdb::AssociativeMergeOperator {
 public:
  explicit StringAppend(std::string delimiter) : delimiter_(std::move(delimiter)) {}
  const char* Name() const override { return "StringAppendOperator"; }
  bool Merge(const rocksdb::Slice&, const rocksdb::Slice* existing, const rocksdb::Slice& value,
             std::string* joined, rocksdb::Logger*) const override {
    joined->clear();
    if (existing != nullptr) joined->append(existing->data(), existing->size()).append(delimiter_);
    joined->append(value.data(), value.size());
    return true;
  }

 private:
  std::string delimiter_;
};

rocksdb::Options optionsOf(const std::string& mergeDelimiter) {
  const SharedStoreMemory memory = sharedStoreMemory();
  rocksdb::BlockBasedTableOptions table;
  table.format_version = 5;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  table.block_cache = memory.cache;

  rocksdb::Options options;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  options.compression = rocksdb::kLZ4Compression;
  options.merge_operator = std::make_shared<StringAppend>(mergeDelimiter);
  options.write_buffer_manager = memory.writeBuffers;
  options.create_if_missing = true;
  options.level_compaction_dynamic_level_bytes = true;
  options.avoid_flush_during_shutdown = true;
  options.info_log_level = rocksdb::ERROR_LEVEL;
  options.keep_log_file_num = 1;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  return options;
}

rocksdb::WriteOptions withoutLog() {
  rocksdb::WriteOptions options;
  options.disableWAL = true;
  return options;
}

}  // namespace

struct SortedStoreBatch::State {
  rocksdb::WriteBatch batch;
};

SortedStoreBatch::SortedStoreBatch() : state_(std::make_unique<State>()) {}
SortedStoreBatch::~SortedStoreBatch() = default;
SortedStoreBatch::SortedStoreBatch(SortedStoreBatch&&) noexcept = default;
SortedStoreBatch& SortedStoreBatch::operator=(SortedStoreBatch&&) noexcept = default;

void SortedStoreBatch::put(std::string_view key, std::string_view value) {
  throwIfFailed(state_->batch.Put(slice(key), slice(value)), "memory");
}
void SortedStoreBatch::remove(std::string_view key) {
  throwIfFailed(state_->batch.Delete(slice(key)), "memory");
}
void SortedStoreBatch::merge(std::string_view key, std::string_view value) {
  throwIfFailed(state_->batch.Merge(slice(key), slice(value)), "memory");
}
int64_t SortedStoreBatch::sizeBytes() const {
  return static_cast<int64_t>(state_->batch.GetDataSize());
}
void SortedStoreBatch::clear() {
  state_->batch.Clear();
}

struct SortedStore::State {
  std::string folder;
  std::unique_ptr<rocksdb::DB> database;
};

SortedStore::SortedStore(std::unique_ptr<State> state) : state_(std::move(state)) {}
SortedStore::~SortedStore() = default;

std::unique_ptr<SortedStore> SortedStore::open(const std::string& folder, Options options) {
  rocksdb::DB* database = nullptr;
  const rocksdb::Options rocksOptions = optionsOf(options.mergeDelimiter);
  throwIfFailed(options.access == Access::ReadOnly
                    ? rocksdb::DB::OpenForReadOnly(rocksOptions, folder, &database)
                    : rocksdb::DB::Open(rocksOptions, folder, &database),
                folder);
  auto state = std::make_unique<State>();
  state->folder = folder;
  state->database.reset(database);
  return std::unique_ptr<SortedStore>(new SortedStore(std::move(state)));
}

bool SortedStore::get(std::string_view key, std::string* value) const {
  const rocksdb::Status status = state_->database->Get({}, slice(key), value);
  if (status.IsNotFound()) return false;
  throwIfFailed(status, state_->folder);
  return true;
}

void SortedStore::write(const SortedStoreBatch& batch) {
  throwIfFailed(state_->database->Write(withoutLog(), &batch.state_->batch), state_->folder);
}

void SortedStore::forEach(std::string_view prefix,
                          const std::function<bool(std::string_view key, std::string_view value)>& visit,
                          std::string_view from) const {
  rocksdb::ReadOptions options;
  options.fill_cache = false;  // a scan must not drive hot blocks out
  options.readahead_size = 2 << 20;
  const std::unique_ptr<rocksdb::Iterator> iterator(state_->database->NewIterator(options));
  for (iterator->Seek(slice(std::max(prefix, from))); iterator->Valid(); iterator->Next()) {
    if (!iterator->key().starts_with(slice(prefix)) || !visit(view(iterator->key()), view(iterator->value())))
      break;
  }
  throwIfFailed(iterator->status(), state_->folder);
}

void SortedStore::ingest(const std::vector<std::string>& files) {
  rocksdb::IngestExternalFileOptions options;
  options.move_files = true;
  options.write_global_seqno = false;
  throwIfFailed(state_->database->IngestExternalFile(files, options), state_->folder);
}

void SortedStore::flush() {
  throwIfFailed(state_->database->Flush({}), state_->folder);
}

void SortedStore::checkpoint(const std::string& folder) {
  rocksdb::Checkpoint* checkpoint = nullptr;
  throwIfFailed(rocksdb::Checkpoint::Create(state_->database.get(), &checkpoint), state_->folder);
  const std::unique_ptr<rocksdb::Checkpoint> owned(checkpoint);
  throwIfFailed(owned->CreateCheckpoint(folder), folder);
}

struct SortedFileWriter::State {
  rocksdb::Options options;
  std::unique_ptr<rocksdb::SstFileWriter> writer;
  std::string path;
};

SortedFileWriter::SortedFileWriter(const std::string& path) : state_(std::make_unique<State>()) {
  state_->options = optionsOf("");
  state_->path = path;
  state_->writer = std::make_unique<rocksdb::SstFileWriter>(rocksdb::EnvOptions(), state_->options);
  throwIfFailed(state_->writer->Open(path), path);
}

SortedFileWriter::~SortedFileWriter() = default;

void SortedFileWriter::put(std::string_view key, std::string_view value) {
  const rocksdb::Status status = state_->writer->Put(slice(key), slice(value));
  if (status.IsInvalidArgument()) throw internalError("The keys of a sorted file do not ascend.");
  throwIfFailed(status, state_->path);
}

int64_t SortedFileWriter::sizeBytes() const {
  return static_cast<int64_t>(state_->writer->FileSize());
}

void SortedFileWriter::finish() {
  throwIfFailed(state_->writer->Finish(), state_->path);
}

}  // namespace thalweg
