// A store that fails on purpose, for tests: the k-th call of one kind of operation ends in ENOSPC, EIO or a
// lost answer.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "storage/file_moves.h"
#include "storage/file_system.h"

namespace thalweg {

enum class FileOperation {
  Stat,
  List,
  Read,  // readAll, openInput, and each read of an open input
  OpenOutput,
  StreamWrite,
  StreamClose,
  WriteAtomically,
  PutIfAbsent,
  Sync,
  MakeDirectories,
  Remove,
  Move,
};

struct FileFault {
  FileOperation operation = FileOperation::StreamWrite;
  int64_t call = 1;     // the k-th call of this kind, from 1
  int errorNumber = 5;  // EIO, ENOSPC …
  int64_t repeat = 1;   // how many calls fail in a row
  // The operation takes effect and only its answer is lost: putIfAbsent then returns Unknown, others throw.
  bool afterEffect = false;
};

// Passes calls on to another store. A failing StreamWrite leaves half of its bytes behind, as a full disk
// does. All methods may be called from any thread.
class FaultFileSystem : public FileSystem, public FileMoves {
 public:
  explicit FaultFileSystem(std::shared_ptr<FileSystem> store);
  ~FaultFileSystem() override;

  void inject(const FileFault& fault);
  void clear();
  // Calls of one kind so far: a test counts them in a clean run, then fails each in turn.
  int64_t calls(FileOperation operation) const;

  std::string uriOf(std::string_view path) const override;
  std::optional<FileInfo> stat(const std::string& path) override;
  std::vector<FileInfo> list(const std::string& directory) override;
  std::vector<FileInfo> listFrom(const std::string& directory, std::string_view firstName) override;
  std::string readAll(const std::string& path) override;
  std::shared_ptr<arrow::io::RandomAccessFile> openInput(const std::string& path) override;
  std::shared_ptr<arrow::io::OutputStream> openOutput(const std::string& path) override;
  void writeAtomically(const std::string& path, std::string_view contents) override;
  PutOutcome putIfAbsent(const std::string& path, std::string_view contents,
                         const std::function<void()>& temporaryWritten) override;
  void sync(const std::string& path) override;
  void makeDirectories(const std::string& path) override;
  void remove(const std::string& path) override;
  void removeTree(const std::string& path) override;
  // As the other store moves files, whether or not it can rename.
  void moveFile(const std::string& from, const std::string& to) override;

  struct State;

 private:
  std::shared_ptr<FileSystem> store_;
  std::shared_ptr<State> state_;  // shared with open streams
};

}  // namespace thalweg
