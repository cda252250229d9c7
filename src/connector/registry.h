// The formats that `format("…")` can name: how each makes a streaming source, a batch table and a sink. Filled by session/.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/options.h"
#include "connector/sink.h"
#include "connector/stream_source.h"
#include "connector/table.h"
#include "expr/nodes.h"
#include "storage/file_system.h"

namespace thalweg {

class CancellationToken;

// What a reader names: options as given, paths among them or apart, and the user's schema where there is one.
struct ReadDefinition {
  Options options;
  std::vector<std::string> paths;
  SchemaPtr userSchema;
  std::string timeZone = "UTC";
  std::string corruptRecordColumn = "_corrupt_record";
};

// What a statement that makes a table, or makes one anew, says of it; for formats that keep such things in the table itself.
struct TableCreation {
  std::string operation;  // as the table's history has it: "CREATE TABLE", "REPLACE TABLE AS SELECT"
  std::optional<std::string> comment;
  std::map<std::string, std::string> properties;
  bool managed = true;
  bool replace = false;   // a table that is there gets this schema, these properties and these rows in place of its own
  std::vector<std::vector<std::string>> clusterBy = {};  // names of columns, or of fields in them
  bool declared = false;  // the columns are as written in DDL: NOT NULL counts; those of a query may all be null
};

// The rows of a table that an overwrite replaces, where they are chosen by an expression and not by an option's SQL.
struct ReplacedRows {
  std::string text;  // as the table's history has it
  // The condition over columns of the table.
  std::function<ExpressionPtr(std::vector<AttributePtr> columns)> resolve;
};

// What a writer names.
struct WriteDefinition {
  Options options;
  std::optional<std::string> path;
  std::vector<std::string> partitionColumns;
  std::vector<std::vector<std::string>> clusterBy = {};  // names of columns, or of fields in them
  std::string timeZone = "UTC";
  bool ansi = true;
  std::optional<TableCreation> creation = {};
  std::optional<ReplacedRows> replaced = {};  // batch overwrites only; absent: as the options say
  // The version of the written table itself that the rows come from, where they do: others' changes since then conflict.
  std::optional<int64_t> readVersion = {};
  const CancellationToken* cancellation = nullptr;  // of the statement, which outlives the write; null: none
  // Of streams whose batches the engine paces, many a second: the sink keeps the number of small files down
  // behind them.
  bool compactBehind = false;
  // Of streams in update mode whose rows are groups of an aggregation: the columns of the output that the groups are by. A row
  // takes the place of its group's earlier one. No columns: there is one group. Absent: rows are only added.
  std::optional<std::vector<int>> keyColumns = {};
};

// A streaming source's schema, known before it is opened.
struct StreamSchema {
  SchemaPtr schema;  // hidden columns last
  int visibleColumns = 0;
};

// One format. An absent function means that the format cannot do it.
struct FormatProvider {
  std::string name;
  // Checks the options as load() does and gives the schema.
  std::function<StreamSchema(const ReadDefinition&, const FileSystemRegistry&)> streamSchema;
  std::function<std::unique_ptr<StreamSource>(const ReadDefinition&, const FileSystemRegistry&, const StreamSourceContext&)>
      openStream;
  std::function<std::shared_ptr<Table>(const ReadDefinition&, const FileSystemRegistry&)> openTable;
  std::function<std::unique_ptr<StreamSink>(const WriteDefinition&, const FileSystemRegistry&)> openStreamSink;
  // A batch write of rows with this schema; null where there is nothing to do (SaveMode::Ignore on an existing table).
  std::function<std::unique_ptr<BatchWrite>(const WriteDefinition&, const FileSystemRegistry&, SaveMode, const SchemaPtr&)>
      openBatchWrite;
};

// Read-only after it is filled; any thread.
class FormatRegistry {
 public:
  explicit FormatRegistry(FileSystemRegistry fileSystems) : fileSystems_(std::move(fileSystems)) {}
  void add(FormatProvider provider);
  // Names ignore case. Throws Error DATA_SOURCE_NOT_FOUND.
  const FormatProvider& find(std::string_view name) const;
  const FileSystemRegistry& fileSystems() const { return fileSystems_; }

 private:
  FileSystemRegistry fileSystems_;
  std::map<std::string, FormatProvider> providers_;
};

}  // namespace thalweg
