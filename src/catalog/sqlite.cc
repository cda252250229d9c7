#include "catalog/sqlite.h"

#include <sqlite3.h>

#include <chrono>
#include <thread>

#include "common/error.h"
#include "common/logging.h"

namespace thalweg {
namespace {

constexpr int kBusyTimeoutMs = 15'000;

Error failure(sqlite3* database) {
  const char* file = database ? sqlite3_db_filename(database, "main") : nullptr;
  const std::string path = file ? file : "";
  const int code = database ? sqlite3_errcode(database) : SQLITE_NOMEM;
  const std::string words = database ? sqlite3_errmsg(database) : "out of memory";
  const std::string advice = code == SQLITE_BUSY ? " Another process holds it: try again."
                             : code == SQLITE_NOTADB
                                 ? " Name another file as the catalog, or move this one away."
                                 : "";
  return Error("CATALOG_FAILURE", "The catalog file " + path + " cannot be used: " + words + "." + advice,
               {{"path", path}});
}

// Several processes may switch a new file to WAL at once, and for that SQLite does not wait by itself.
void useWriteAheadLog(sqlite3* database) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kBusyTimeoutMs);
  for (;;) {
    const int code = sqlite3_exec(database, "PRAGMA journal_mode = WAL", nullptr, nullptr, nullptr);
    if (code == SQLITE_OK) return;
    if (code != SQLITE_BUSY || std::chrono::steady_clock::now() > deadline) throw failure(database);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace

void SqliteStatement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

SqliteStatement& SqliteStatement::bind(std::string_view text) {
  sqlite3_bind_text64(statement_.get(), nextParameter_++, text.data(), text.size(), SQLITE_TRANSIENT,
                      SQLITE_UTF8);
  return *this;
}

SqliteStatement& SqliteStatement::bindOptional(const std::optional<std::string>& text) {
  if (text) return bind(std::string_view(*text));
  sqlite3_bind_null(statement_.get(), nextParameter_++);
  return *this;
}

SqliteStatement& SqliteStatement::bind(int64_t number) {
  sqlite3_bind_int64(statement_.get(), nextParameter_++, number);
  return *this;
}

bool SqliteStatement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  throw failure(sqlite3_db_handle(statement_.get()));
}

std::string SqliteStatement::text(int column) const {
  return optionalText(column).value_or("");
}

std::optional<std::string> SqliteStatement::optionalText(int column) const {
  const auto* bytes = sqlite3_column_text(statement_.get(), column);
  if (!bytes) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(bytes),
                     static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column)));
}

int64_t SqliteStatement::number(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

void SqliteConnection::Close::operator()(sqlite3* database) const {
  sqlite3_close_v2(database);
}

SqliteConnection::SqliteConnection(const std::string& path) {
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(
      path.c_str(), &opened,
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  database_.reset(opened);
  if (code != SQLITE_OK) {
    throw Error("CATALOG_FAILURE",
                "The catalog file " + path +
                    " cannot be opened: " + (opened ? sqlite3_errmsg(opened) : "out of memory") + ".",
                {{"path", path}});
  }
  sqlite3_busy_timeout(opened, kBusyTimeoutMs);
  useWriteAheadLog(opened);
  execute("PRAGMA synchronous = FULL");
  execute("PRAGMA foreign_keys = ON");
}

SqliteStatement SqliteConnection::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(database_.get(), sql.data(), static_cast<int>(sql.size()), &statement, nullptr) !=
      SQLITE_OK) {
    throw failure(database_.get());
  }
  return SqliteStatement(statement);
}

void SqliteConnection::execute(const char* sql) {
  if (sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK)
    throw failure(database_.get());
}

SqliteTransaction::SqliteTransaction(SqliteConnection& connection) : connection_(connection) {
  connection_.execute("BEGIN IMMEDIATE");
}

SqliteTransaction::~SqliteTransaction() {
  if (!open_) return;
  try {
    connection_.execute("ROLLBACK");
  } catch (const Error& error) {
    logWarn("A catalog transaction was not rolled back: {}", error.text());
  }
}

void SqliteTransaction::commit() {
  connection_.execute("COMMIT");
  open_ = false;
}

}  // namespace thalweg
