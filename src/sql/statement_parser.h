// Statements around the query parser: DDL, DML, settings, maintenance. Its methods lie in statement_parser.cc (which
// statement it is, settings, SHOW, DESCRIBE), ddl_statements.cc and dml_statements.cc.
#pragma once

#include <string>
#include <vector>

#include "sql/sql_parser.h"

namespace thalweg::sql {

// One use parses one text, on one thread.
class StatementParser {
 public:
  StatementParser(std::string_view text, const ParseOptions& options) : parser_(text, options), tokens_(parser_.tokens()) {}

  // The whole text.
  Statement parse();

 private:
  Statement parseOne();

  // statement_parser.cc
  Statement parseSet();
  Statement parseReset();
  Statement parseShow();
  Statement parseDescribe();
  Statement parseUse();
  Statement parseExplain();
  Statement parseCache();
  Statement parseUncache();
  Statement parseRefresh();
  Statement parseComment();

  // ddl_statements.cc
  Statement parseCreate(bool replaceOnly);
  Statement parseCreateTable(CreateTable table);
  Statement parseCreateView(CreateView view);
  Statement parseCreateSchema();
  Statement parseDrop();
  Statement parseAlter();
  void parseAlterColumn(AlterTable* alter);
  void parseAddColumns(AlterTable* alter);
  void parseTableClauses(CreateTable* table);
  void parsePartitionedBy(CreateTable* table);
  Transform parseTransform();
  std::vector<Name> parseClusterColumns();
  std::vector<ColumnDefinition> parseColumnDefinitions();
  ColumnDefinition parseColumnDefinition();
  void parseColumnOptions(ColumnDefinition* column);
  ColumnDefinition::Identity parseIdentity(bool always);
  std::string parseParenthesizedText();
  Properties parseProperties();
  std::string parsePropertyKey();
  bool acceptIfExists();
  bool acceptIfNotExists();

  // dml_statements.cc
  Statement parseInsert();
  Statement parseUpdate();
  Statement parseDelete();
  Statement parseMerge();
  MergeClause parseMergeClause();
  std::vector<Assignment> parseAssignments();
  Statement parseOptimize();
  Statement parseVacuum();
  Statement parseRestore();
  Statement parseReorg();
  Statement parseCopyInto();
  Statement parseTruncate();
  Statement parseConvert();

  // A table's name; or its path in quotes, as Delta's statements take it.
  Name parseNameOrPath();
  RelationPtr parseQueryMessage() { return parser_.parseQuery().message; }
  ExpressionPtr parseExpressionMessage() { return parser_.parseExpression().message; }
  std::optional<std::string> acceptLikePattern();

  SqlParser parser_;
  TokenStream& tokens_;
};

}  // namespace thalweg::sql
