// Rows into tables: INSERT, saveAsTable, insertInto, writeTo.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "commands/command_session.h"
#include "common/setting_lookup.h"
#include "sql/statements.h"

namespace thalweg {

struct TableWrite {
  sql::Name table;
  LogicalPtr rows;
  Options options = {};
  bool overwrite = false;
  std::vector<std::string> partitionedBy = {};           // as the writer says; must be the table's own
  std::vector<std::vector<std::string>> clusterBy = {};  // likewise
  // Of an overwrite: the rows that it replaces. Null: as the options say.
  std::shared_ptr<const spark::connect::Expression> replaced = {};
};

// What a batch write does where its own options do not say: the session's settings become options
// (partitionOverwriteMode, optimizeWrite, and those of auto compaction under their own names). Every batch
// write's options pass here; the format acts on them.
void takeWriteSettings(const SettingLookup& setting, Options* options);

// Of these what a stream's writes take too.
void takeOptimizeWrite(const SettingLookup& setting, Options* options);

// The oldest version of the table at `uri` among the scans of a plan; nothing where it is not read.
std::optional<int64_t> versionReadOf(const LogicalNode& rows, const std::string& uri);

// Into a table that exists, column by column: INSERT, insertInto. Values are cast. Throws Error of
// requireTable and assignByPosition.
void insertByPosition(const TableWrite& write, CommandSession& session);
// Column by name: INSERT BY NAME, writeTo().append(), saveAsTable in mode append.
void insertByName(const TableWrite& write, CommandSession& session);
// DataFrame.writeTo(): as insertByName. Also throws Error VIEW_WRITE_NOT_ALLOWED, and _LEGACY_ERROR_TEMP_1012
// for a table of another format than Delta.
void writeByName(const TableWrite& write, CommandSession& session);
// Rows in place of a table's, or of those that the options name. As for a path, they are not cast: the schema
// is held up, or changed as the options say.
void overwriteTable(TableWrite write, CommandSession& session);
// Into the columns of a list.
void insertIntoList(const TableWrite& write, const std::vector<std::string>& columns,
                    CommandSession& session);

// DataFrame.write.saveAsTable: the table is made where it is missing (`provider`, the option path). Throws
// Error TABLE_OR_VIEW_ALREADY_EXISTS in mode error, _LEGACY_ERROR_TEMP_1159 for a table of another format,
// and createTable's.
struct TableSave {
  TableWrite write;
  std::string provider;
  SaveMode mode = SaveMode::ErrorIfExists;
};
void saveAsTable(const TableSave& save, CommandSession& session);

}  // namespace thalweg
