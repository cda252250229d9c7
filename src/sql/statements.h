// Statements other than queries, as the parser hands them out: small structs, names not resolved.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sql/message_ptr.h"
#include "types/char_varchar.h"
#include "types/data_type.h"

namespace thalweg::sql {

// A multi-part name as written: {"main", "sales", "orders"}, {"delta", "/data/orders"}.
using Name = std::vector<std::string>;
// Keys and values in the order of the text.
using Properties = std::vector<std::pair<std::string, std::string>>;
// Expressions of a statement may hold subqueries: the relations that their plan_ids mean, as in with_relations.references.
using Subqueries = std::vector<RelationPtr>;

// A query whose answer is the statement's.
struct Query {
  RelationPtr relation;
};

// SET key = value; value is the text behind '=', trimmed.
struct SetConf {
  std::string key;
  std::string value;
};
// SET key; without a key (SET, SET -v) all of them.
struct GetConf {
  std::optional<std::string> key;
};
// RESET [key].
struct ResetConf {
  std::optional<std::string> key;
};

struct ColumnDefinition {
  Name name;  // nested in ALTER TABLE ADD COLUMN a.b
  DataTypePtr type;
  bool nullable = true;
  std::optional<std::string> comment = {};
  std::optional<std::string> defaultExpression = {};    // SQL text
  std::optional<std::string> generationExpression = {};  // SQL text of GENERATED ALWAYS AS (…)
  // GENERATED {ALWAYS|BY DEFAULT} AS IDENTITY (START WITH n INCREMENT BY n)
  struct Identity {
    bool always = true;
    int64_t start = 1;
    int64_t step = 1;
  };
  std::optional<Identity> identity = {};
  // ALTER TABLE ADD COLUMN … FIRST | AFTER other
  bool first = false;
  std::optional<std::string> after = {};
  StringBounds bounds = {};  // of the type's CHAR and VARCHAR
};

// A PARTITIONED BY or CLUSTER BY item that is no plain column: days(ts), bucket(4, id).
struct Transform {
  std::string function;  // "identity" for a plain column
  Name column;
  std::vector<std::string> arguments = {};  // SQL texts before the column
};

struct TimeTravel {
  std::optional<std::string> version = {};    // the literal's text
  std::optional<std::string> timestamp = {};  // the string literal's value
  std::optional<std::string> timestampExpression = {};  // SQL text, where it is no string literal
  bool empty() const { return !version && !timestamp && !timestampExpression; }
};

struct CreateTable {
  Name table;
  bool ifNotExists = false;
  bool orReplace = false;
  bool external = false;
  bool replaceOnly = false;  // REPLACE TABLE: must exist
  std::vector<ColumnDefinition> columns = {};
  // Columns named in PARTITIONED BY with a type are in `columns` as well.
  std::vector<Transform> partitionedBy = {};
  std::vector<Name> clusterBy = {};
  std::optional<std::string> provider = {};
  std::optional<std::string> location = {};
  std::optional<std::string> comment = {};
  Properties properties = {};
  Properties options = {};
  RelationPtr query = {};  // AS query
  // SHALLOW|DEEP CLONE source, LIKE source
  enum class Copy { None, ShallowClone, DeepClone, Like };
  Copy copy = Copy::None;
  Name source = {};
  TimeTravel sourceTimeTravel = {};
};

struct CreateView {
  Name view;
  bool temporary = false;
  bool global = false;
  bool orReplace = false;
  bool ifNotExists = false;
  std::vector<std::string> columns = {};
  std::vector<std::optional<std::string>> columnComments = {};  // as many as columns
  std::optional<std::string> comment = {};
  Properties properties = {};
  RelationPtr query = {};      // empty with USING
  std::string queryText = {};  // as written, for a stored view
  // CREATE TEMPORARY VIEW v USING format OPTIONS (…)
  std::optional<std::string> provider = {};
  Properties options = {};
};

struct DropTable {
  Name table;
  bool isView = false;
  bool ifExists = false;
  bool purge = false;
};

struct CreateSchema {
  Name schema;
  bool ifNotExists = false;
  std::optional<std::string> location = {};
  std::optional<std::string> comment = {};
  Properties properties = {};
};
struct DropSchema {
  Name schema;
  bool ifExists = false;
  bool cascade = false;
};
// USE [SCHEMA|CATALOG] name.
struct UseSchema {
  Name schema;
  bool isCatalog = false;
};

struct ShowTables {
  enum class Kind { Tables, Views, Schemas, Columns, TableProperties, Catalogs, Functions, Partitions, CreateTable, CurrentNamespace };
  Kind kind = Kind::Tables;
  bool userFunctions = true;    // SHOW USER FUNCTIONS, or all
  bool systemFunctions = true;  // SHOW SYSTEM FUNCTIONS, or all
  Name name = {};  // the schema or table asked about, empty: the current schema
  std::optional<std::string> pattern = {};  // LIKE
  std::optional<std::string> key = {};      // of SHOW TBLPROPERTIES t ('key')
};

struct DescribeTable {
  Name table;
  bool extended = false;
  Name column = {};
};
struct DescribeHistory {
  Name table;
  std::optional<int64_t> limit = {};
};
struct DescribeDetail {
  Name table;
};
struct DescribeSchema {
  Name schema;
  bool extended = false;
};
struct DescribeFunction {
  Name function;
  bool extended = false;
};
struct DescribeQuery {
  RelationPtr query;
};

struct InsertInto {
  Name table;
  bool overwrite = false;
  bool byName = false;
  std::vector<std::string> columns = {};
  // PARTITION (p = 'x', q): static values as expressions, dynamic ones empty.
  std::vector<std::pair<std::string, ExpressionPtr>> partition = {};
  std::vector<std::string> partitionTexts = {};  // the SQL texts of those values, empty for dynamic ones
  bool ifPartitionNotExists = false;
  ExpressionPtr replaceWhere = {};
  std::string replaceWhereText = {};
  bool withSchemaEvolution = false;
  RelationPtr query = {};
  Subqueries subqueries = {};
};

// `column = value`; a value that is thalweg.messages.SqlDefault is DEFAULT.
struct Assignment {
  Name column;
  ExpressionPtr value;
};

struct Update {
  Name table;
  std::string alias = {};
  std::vector<Assignment> assignments = {};
  ExpressionPtr condition = {};
  Subqueries subqueries = {};
};

struct Delete {
  Name table;
  std::string alias = {};
  ExpressionPtr condition = {};
  Subqueries subqueries = {};
};

struct MergeClause {
  enum class When { Matched, NotMatchedByTarget, NotMatchedBySource };
  enum class Action { Update, UpdateAll, Delete, Insert, InsertAll };
  When when = When::Matched;
  Action action = Action::Delete;
  ExpressionPtr condition = {};
  std::vector<Assignment> assignments = {};  // of Update and Insert
};

struct Merge {
  Name target;
  std::string targetAlias = {};
  RelationPtr source = {};  // with its alias
  ExpressionPtr condition = {};
  std::vector<MergeClause> clauses = {};
  bool withSchemaEvolution = false;
  Subqueries subqueries = {};
};

struct Optimize {
  Name table;
  bool full = false;
  ExpressionPtr condition = {};
  std::string conditionText = {};
  std::vector<Name> zorderBy = {};
};
struct Vacuum {
  Name table;
  std::optional<double> retainHours = {};
  bool dryRun = false;
  bool lite = false;
};
struct Restore {
  Name table;
  TimeTravel to = {};
};
// REORG TABLE t [WHERE …] APPLY (PURGE) | APPLY (UPGRADE UNIFORM (…)).
struct Reorg {
  Name table;
  ExpressionPtr condition = {};
};

struct AlterTable {
  enum class Kind {
    AddColumns,
    ReplaceColumns,
    DropColumns,
    RenameColumn,
    AlterColumn,
    SetProperties,
    UnsetProperties,
    AddConstraint,
    DropConstraint,
    RenameTable,
    SetLocation,
    DropFeature,
    ClusterBy,
    ViewQuery,  // ALTER VIEW v AS query
  };
  Name table;
  Kind kind = Kind::AddColumns;
  bool isView = false;
  std::vector<ColumnDefinition> columns = {};  // AddColumns, ReplaceColumns
  std::vector<Name> columnNames = {};          // DropColumns, RenameColumn (one), AlterColumn (one), ClusterBy
  std::string newName = {};                    // RenameColumn
  Name newTable = {};                          // RenameTable
  bool ifExists = false;
  // AlterColumn: what is set changes.
  DataTypePtr newType = {};
  StringBounds newBounds = {};  // of newType's CHAR and VARCHAR
  std::optional<bool> nullable = {};
  std::optional<std::string> comment = {};
  std::optional<std::string> setDefault = {};  // SQL text
  bool dropDefault = false;
  bool first = false;
  std::optional<std::string> after = {};
  bool syncIdentity = false;
  Properties properties = {};             // SetProperties
  std::vector<std::string> keys = {};     // UnsetProperties
  std::string constraint = {};            // Add/DropConstraint, DropFeature: its name
  std::string checkText = {};             // AddConstraint: SQL text of CHECK (…)
  ExpressionPtr check = {};
  bool truncateHistory = false;           // DropFeature
  std::string location = {};              // SetLocation
  RelationPtr query = {};                 // ViewQuery
  std::string queryText = {};
};

// COPY INTO t FROM 'path' FILEFORMAT = format …
struct CopyInto {
  Name table;
  std::vector<std::string> columns = {};
  std::string path = {};
  RelationPtr sourceQuery = {};  // FROM (SELECT … FROM 'path'): the relation reads data_source without a format
  std::string format = {};
  std::vector<std::string> files = {};
  std::optional<std::string> pattern = {};
  Properties formatOptions = {};
  Properties copyOptions = {};
};

struct Truncate {
  Name table;
};
// REFRESH [TABLE] name | REFRESH 'path'.
struct Refresh {
  Name table;
  std::optional<std::string> path = {};
};
struct Cache {
  Name table;
  bool lazy = false;
  RelationPtr query = {};
  Properties options = {};
};
// UNCACHE TABLE [IF EXISTS] name, CLEAR CACHE without a name.
struct Uncache {
  Name table;
  bool ifExists = false;
};
// COMMENT ON TABLE|SCHEMA name IS 'text' | NULL.
struct CommentOn {
  Name name;
  bool isSchema = false;
  std::optional<std::string> comment = {};
};
// CONVERT TO DELTA format.`path` [NO STATISTICS] [PARTITIONED BY (…)].
struct ConvertToDelta {
  Name table;
  bool statistics = true;
  std::vector<ColumnDefinition> partitionedBy = {};
};

struct Explain;

using Statement =
    std::variant<Query, SetConf, GetConf, ResetConf, CreateTable, CreateView, DropTable, CreateSchema, DropSchema, UseSchema,
                 ShowTables, DescribeTable, DescribeHistory, DescribeDetail, DescribeSchema, DescribeFunction, DescribeQuery,
                 InsertInto, Update, Delete, Merge, Optimize, Vacuum, Restore, Reorg, AlterTable, CopyInto, Truncate, Refresh,
                 Cache, Uncache, CommentOn, ConvertToDelta, std::shared_ptr<Explain>>;

// EXPLAIN [EXTENDED|CODEGEN|COST|FORMATTED] statement.
struct Explain {
  std::string mode;  // "simple" where none is given
  Statement statement;
};

}  // namespace thalweg::sql
