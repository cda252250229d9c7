// An ordered map from bytes to bytes in a folder of local disk (RocksDB). Its files are those that Spark's
// RocksDB state stores have (format version 5, lz4, bloom filters): either engine opens what the other wrote.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace thalweg {

// Puts and removals that take effect together. Used by one thread.
class SortedStoreBatch {
 public:
  SortedStoreBatch();
  ~SortedStoreBatch();
  SortedStoreBatch(SortedStoreBatch&&) noexcept;
  SortedStoreBatch& operator=(SortedStoreBatch&&) noexcept;

  void put(std::string_view key, std::string_view value);
  void remove(std::string_view key);
  // Joins `value` to what the key has, with the store's delimiter between.
  void merge(std::string_view key, std::string_view value);
  int64_t sizeBytes() const;
  void clear();

 private:
  friend class SortedStore;
  struct State;
  std::unique_ptr<State> state_;
};

// Failures throw Error STORAGE_FAILURE with the folder and RocksDB's words. Reads and writes may come from
// any thread; the store must outlive them. Writes have no log of their own: what is not in a checkpoint (or
// flushed) is lost with the process, for state's durability lies in its change files.
class SortedStore {
 public:
  enum class Access { ReadOnly, ReadWrite };
  struct Options {
    Access access = Access::ReadWrite;
    // Between values joined by merge: "," with Spark's merge operator version 1, nothing with version 2.
    std::string mergeDelimiter;
  };

  // ReadWrite makes the folder where it is missing.
  static std::unique_ptr<SortedStore> open(const std::string& folder, Options options);
  ~SortedStore();

  bool get(std::string_view key, std::string* value) const;
  void write(const SortedStoreBatch& batch);
  // Entries whose key begins with `prefix`, in the order of their bytes, until `visit` returns false. The
  // views hold during the call. `from`: those before it are not looked for, which would cost a look at each
  // that was removed.
  void forEach(std::string_view prefix,
               const std::function<bool(std::string_view key, std::string_view value)>& visit,
               std::string_view from = {}) const;

  // Takes in files of SortedFileWriter, whose entries hide older ones; the files are moved, not copied.
  void ingest(const std::vector<std::string>& files);
  // Writes what is in memory into files.
  void flush();
  // A consistent copy of the store in `folder`, which must not exist; its data files are links to this
  // store's.
  void checkpoint(const std::string& folder);

 private:
  struct State;
  explicit SortedStore(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Writes one file for SortedStore::ingest. Used by one thread.
class SortedFileWriter {
 public:
  explicit SortedFileWriter(const std::string& path);
  ~SortedFileWriter();

  // Keys ascend strictly, by their bytes; else Error INTERNAL_ERROR.
  void put(std::string_view key, std::string_view value);
  int64_t sizeBytes() const;
  // At least one entry must have been put.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace thalweg
