// SQLite behind a thin wrapper: the only place that sees the library.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace thalweg {

// A prepared statement. Parameters are numbered from 1, columns from 0. Used by one thread, within its
// connection's life.
class SqliteStatement {
 public:
  SqliteStatement& bind(std::string_view text);
  SqliteStatement& bindOptional(const std::optional<std::string>& text);  // null where there is none
  SqliteStatement& bind(int64_t number);
  // True while there is a row. Throws Error CATALOG_FAILURE.
  bool step();
  // Runs a statement that gives no rows.
  void run() { step(); }

  std::string text(int column) const;
  std::optional<std::string> optionalText(int column) const;
  int64_t number(int column) const;

 private:
  friend class SqliteConnection;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  explicit SqliteStatement(sqlite3_stmt* statement) : statement_(statement) {}
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int nextParameter_ = 1;
};

// One connection to a database file, made where it is missing. Writers of other processes are waited for,
// some seconds. Every commit is synced: it survives the machine. Used by one thread at a time. All methods
// throw Error CATALOG_FAILURE, naming the file: it is busy, no database, not writable.
class SqliteConnection {
 public:
  explicit SqliteConnection(const std::string& path);
  SqliteStatement prepare(std::string_view sql);
  void execute(const char* sql);

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  std::unique_ptr<sqlite3, Close> database_;
};

// A write transaction: takes the database's one write lock at once, so that what it reads stays so until
// commit. Rolls back where it is not committed.
class SqliteTransaction {
 public:
  explicit SqliteTransaction(SqliteConnection& connection);
  ~SqliteTransaction();
  void commit();

 private:
  SqliteConnection& connection_;
  bool open_ = true;
};

}  // namespace thalweg
