// CREATE, DROP, ALTER.
#include "common/error.h"
#include "common/options.h"
#include "spark/connect/expressions.pb.h"
#include "spark/connect/relations.pb.h"
#include "sql/statement_parser.h"

namespace thalweg::sql {

bool StatementParser::acceptIfExists() { return tokens_.acceptWords({"if", "exists"}); }
bool StatementParser::acceptIfNotExists() { return tokens_.acceptWords({"if", "not", "exists"}); }

Statement StatementParser::parseCreate(bool replaceOnly) {
  CreateTable table;
  table.replaceOnly = replaceOnly;
  if (replaceOnly) tokens_.expectWord("replace");
  const bool orReplace = tokens_.acceptWords({"or", "replace"});
  const bool global = tokens_.acceptWord("global");
  const bool temporary = tokens_.acceptWord("temporary") || tokens_.acceptWord("temp");
  if (tokens_.peekAnyWord({"schema", "database", "namespace"}) && !orReplace && !temporary) {
    tokens_.take();
    return parseCreateSchema();
  }
  if (tokens_.acceptWord("view")) {
    CreateView view;
    view.orReplace = orReplace;
    view.temporary = temporary;
    view.global = global;
    return parseCreateView(std::move(view));
  }
  table.external = tokens_.acceptWord("external");
  if (tokens_.acceptWord("table")) {
    if (temporary) throw unsupported("CREATE TEMPORARY TABLE (use CREATE TEMPORARY VIEW)");
    table.orReplace = orReplace;
    return parseCreateTable(std::move(table));
  }
  if (tokens_.peekAnyWord({"function", "catalog", "index", "streaming", "materialized", "flow", "variable"})) {
    throw unsupported("CREATE " + toLowerAscii(tokens_.peek().text));
  }
  tokens_.fail();
}

Statement StatementParser::parseCreateTable(CreateTable table) {
  table.ifNotExists = acceptIfNotExists();
  table.table = parser_.parseName();
  if (tokens_.peekAnyWord({"shallow", "deep"}) || tokens_.peekWord("clone")) {
    table.copy = tokens_.acceptWord("shallow") ? CreateTable::Copy::ShallowClone : CreateTable::Copy::DeepClone;
    tokens_.acceptWord("deep");
    tokens_.expectWord("clone");
    table.source = parser_.parseName();
    if (parser_.peekTimeTravel()) table.sourceTimeTravel = parser_.parseTimeTravel();
  } else if (tokens_.acceptWord("like")) {
    table.copy = CreateTable::Copy::Like;
    table.source = parser_.parseName();
  } else if (tokens_.peekSymbol("(") && !parser_.peekQuery()) {
    table.columns = parseColumnDefinitions();
  }
  parseTableClauses(&table);
  if (tokens_.acceptWord("as") || parser_.peekQuery()) table.query = parseQueryMessage();
  return table;
}

void StatementParser::parseTableClauses(CreateTable* table) {
  std::pair<size_t, size_t> clustering;  // where CLUSTER BY stands
  for (;;) {
    if (tokens_.acceptWord("using")) {
      table->provider = unparsedIdentifier(parser_.parseName());
    } else if (tokens_.acceptWords({"partitioned", "by"})) {
      parsePartitionedBy(table);
    } else if (tokens_.peekWords({"cluster", "by"})) {
      const size_t first = tokens_.position();
      tokens_.acceptWords({"cluster", "by"});
      table->clusterBy = parseClusterColumns();
      clustering = tokens_.rangeSince(first);
    } else if (tokens_.acceptWord("location")) {
      table->location = tokens_.expectString();
    } else if (tokens_.acceptWord("comment")) {
      table->comment = tokens_.expectString();
    } else if (tokens_.acceptWord("tblproperties")) {
      table->properties = parseProperties();
    } else if (tokens_.acceptWord("options")) {
      table->options = parseProperties();
    } else if (tokens_.peekWord("clustered") || tokens_.peekWords({"row", "format"}) || tokens_.peekWords({"stored", "as"})) {
      throw unsupported("Hive's table clauses (CLUSTERED BY, ROW FORMAT, STORED AS)");
    } else {
      break;
    }
  }
  if (table->clusterBy.empty() || table->partitionedBy.empty()) return;
  const auto [start, stop] = clustering;
  const LinePosition place = linePosition(tokens_.text(), start);
  throw Error("_LEGACY_ERROR_TEMP_0035",
              "A table is partitioned or clustered, not both: leave PARTITIONED BY or CLUSTER BY out (line " +
                  std::to_string(place.line) + ", pos " + std::to_string(place.column) + ").",
              {{"message", "Clustering and partitioning cannot both be specified."}})
      .withQueryContext({std::string(tokens_.text().substr(start, stop - start)), static_cast<int>(start),
                         static_cast<int>(stop) - 1});
}

// CLUSTER BY (a, b.c) | CLUSTER BY NONE | AUTO.
std::vector<Name> StatementParser::parseClusterColumns() {
  std::vector<Name> columns;
  if (tokens_.peekWord("auto")) throw unsupported("CLUSTER BY AUTO");
  if (tokens_.acceptWord("none")) return columns;
  tokens_.expectSymbol("(");
  do {
    columns.push_back(tokens_.expectMultipartIdentifier());
  } while (tokens_.acceptSymbol(","));
  tokens_.expectSymbol(")");
  return columns;
}

// (a, days(b)) of columns, or (a INT) that adds columns.
void StatementParser::parsePartitionedBy(CreateTable* table) {
  tokens_.expectSymbol("(");
  do {
    const bool typed = tokens_.peekIdentifier() && tokens_.peekIdentifier(1);
    if (typed) {
      table->columns.push_back(parseColumnDefinition());
      table->partitionedBy.push_back({"identity", table->columns.back().name});
    } else {
      table->partitionedBy.push_back(parseTransform());
    }
  } while (tokens_.acceptSymbol(","));
  tokens_.expectSymbol(")");
}

Transform StatementParser::parseTransform() {
  Name name = tokens_.expectMultipartIdentifier();
  if (name.size() != 1 || !tokens_.acceptSymbol("(")) return {"identity", std::move(name)};
  Transform transform{name[0], {}};
  do {
    if (tokens_.peekIdentifier()) {
      transform.column = tokens_.expectMultipartIdentifier();
    } else {
      transform.arguments.emplace_back(tokens_.take().text);
    }
  } while (tokens_.acceptSymbol(","));
  tokens_.expectSymbol(")");
  return transform;
}

std::vector<ColumnDefinition> StatementParser::parseColumnDefinitions() {
  std::vector<ColumnDefinition> columns;
  tokens_.expectSymbol("(");
  do {
    if (tokens_.peekWord("constraint") && tokens_.peekIdentifier(2)) throw unsupported("constraints in CREATE TABLE");
    columns.push_back(parseColumnDefinition());
  } while (tokens_.acceptSymbol(","));
  tokens_.expectSymbol(")");
  return columns;
}

ColumnDefinition StatementParser::parseColumnDefinition() {
  ColumnDefinition column;
  column.name = tokens_.expectMultipartIdentifier();
  tokens_.acceptSymbol(":");
  column.type = tokens_.expectType(&column.bounds);
  parseColumnOptions(&column);
  return column;
}

void StatementParser::parseColumnOptions(ColumnDefinition* column) {
  for (;;) {
    if (tokens_.acceptWords({"not", "null"})) {
      column->nullable = false;
    } else if (tokens_.acceptWord("null")) {
      column->nullable = true;
    } else if (tokens_.acceptWord("comment")) {
      column->comment = tokens_.expectString();
    } else if (tokens_.acceptWord("default")) {
      const size_t first = tokens_.position();
      parser_.parseExpression();
      column->defaultExpression = tokens_.textSince(first);
    } else if (tokens_.acceptWord("generated")) {
      const bool always = tokens_.acceptWord("always");
      if (!always) tokens_.acceptWords({"by", "default"});
      tokens_.expectWord("as");
      if (tokens_.acceptWord("identity")) column->identity = parseIdentity(always);
      else column->generationExpression = parseParenthesizedText();
    } else if (tokens_.acceptWord("first")) {
      column->first = true;
    } else if (tokens_.acceptWord("after")) {
      column->after = tokens_.expectIdentifier();
    } else {
      return;
    }
  }
}

ColumnDefinition::Identity StatementParser::parseIdentity(bool always) {
  ColumnDefinition::Identity identity;
  identity.always = always;
  if (!tokens_.acceptSymbol("(")) return identity;
  while (!tokens_.acceptSymbol(")")) {
    if (tokens_.acceptWords({"start", "with"})) identity.start = tokens_.expectInteger();
    else if (tokens_.acceptWords({"increment", "by"})) identity.step = tokens_.expectInteger();
    else tokens_.fail();
  }
  return identity;
}

// The SQL text between '(' and its ')', parsed to be sure of it.
std::string StatementParser::parseParenthesizedText() {
  tokens_.expectSymbol("(");
  const size_t first = tokens_.position();
  parser_.parseExpression();
  std::string text = tokens_.textSince(first);
  tokens_.expectSymbol(")");
  return text;
}

std::string StatementParser::parsePropertyKey() {
  // One text: a second one after it is the value, where '=' is left out.
  if (tokens_.peek().kind == TokenKind::String) return stringTokenValue(tokens_.take().text);
  std::string key = tokens_.expectIdentifier();
  while (tokens_.acceptSymbol(".")) key += "." + tokens_.expectIdentifier();
  return key;
}

// ('key' = 'value', key.part value, 'n' = 5)
Properties StatementParser::parseProperties() {
  Properties properties;
  tokens_.expectSymbol("(");
  if (tokens_.acceptSymbol(")")) return properties;
  do {
    std::string key = parsePropertyKey();
    tokens_.acceptSymbol("=");
    std::string value;
    if (tokens_.peek().kind == TokenKind::String) {
      value = tokens_.expectString();
    } else if (!tokens_.peekSymbol(",") && !tokens_.peekSymbol(")")) {
      const size_t first = tokens_.position();
      tokens_.acceptSymbol("-");
      tokens_.take();
      value = tokens_.textSince(first);
    }
    properties.emplace_back(std::move(key), std::move(value));
  } while (tokens_.acceptSymbol(","));
  tokens_.expectSymbol(")");
  return properties;
}

Statement StatementParser::parseCreateView(CreateView view) {
  view.ifNotExists = acceptIfNotExists();
  view.view = parser_.parseName();
  if (tokens_.acceptSymbol("(")) {
    do {
      view.columns.push_back(tokens_.expectIdentifier());
      std::optional<std::string> comment;
      if (tokens_.acceptWord("comment")) comment = tokens_.expectString();
      view.columnComments.push_back(std::move(comment));
    } while (tokens_.acceptSymbol(","));
    tokens_.expectSymbol(")");
  }
  for (;;) {
    if (tokens_.acceptWord("comment")) view.comment = tokens_.expectString();
    else if (tokens_.acceptWord("tblproperties")) view.properties = parseProperties();
    else if (tokens_.acceptWord("using")) view.provider = unparsedIdentifier(parser_.parseName());
    else if (tokens_.acceptWord("options")) view.options = parseProperties();
    else break;
  }
  if (view.provider) return view;
  tokens_.expectWord("as");
  const size_t first = tokens_.position();
  parser_.refuseParameters("the query of CREATE VIEW");
  view.query = parseQueryMessage();
  view.queryText = tokens_.textSince(first);
  return view;
}

Statement StatementParser::parseCreateSchema() {
  CreateSchema schema;
  schema.ifNotExists = acceptIfNotExists();
  schema.schema = parser_.parseName();
  for (;;) {
    if (tokens_.acceptWord("comment")) schema.comment = tokens_.expectString();
    else if (tokens_.acceptWord("location")) schema.location = tokens_.expectString();
    else if (tokens_.acceptWords({"with", "dbproperties"}) || tokens_.acceptWords({"with", "properties"}))
      schema.properties = parseProperties();
    else return schema;
  }
}

Statement StatementParser::parseDrop() {
  if (tokens_.peekAnyWord({"schema", "database", "namespace"})) {
    tokens_.take();
    DropSchema drop;
    drop.ifExists = acceptIfExists();
    drop.schema = parser_.parseName();
    drop.cascade = tokens_.acceptWord("cascade");
    if (!drop.cascade) tokens_.acceptWord("restrict");
    return drop;
  }
  DropTable drop;
  drop.isView = tokens_.acceptWord("view");
  if (!drop.isView && !tokens_.acceptWord("table")) {
    if (tokens_.peekIdentifier() && tokens_.peekIdentifier(1)) throw unsupported("DROP " + toLowerAscii(tokens_.peek().text));
    tokens_.fail();
  }
  drop.ifExists = acceptIfExists();
  drop.table = parser_.parseName();
  drop.purge = tokens_.acceptWord("purge");
  return drop;
}

Statement StatementParser::parseAlter() {
  using Kind = AlterTable::Kind;
  AlterTable alter;
  alter.isView = tokens_.acceptWord("view");
  if (!alter.isView && !tokens_.acceptWord("table")) {
    if (tokens_.peekIdentifier() && tokens_.peekIdentifier(1)) throw unsupported("ALTER " + toLowerAscii(tokens_.peek().text));
    tokens_.fail();
  }
  alter.table = parser_.parseName();
  if (tokens_.acceptWords({"add", "constraint"})) {
    alter.kind = Kind::AddConstraint;
    alter.constraint = tokens_.expectIdentifier();
    if (!tokens_.acceptWord("check")) throw unsupported("constraints other than CHECK");
    tokens_.expectSymbol("(");
    const size_t first = tokens_.position();
    alter.check = parseExpressionMessage();
    alter.checkText = tokens_.textSince(first);
    tokens_.expectSymbol(")");
  } else if (tokens_.peekWord("add") && tokens_.peekAnyWord({"partition", "if"}, 1)) {
    throw unsupported("ALTER TABLE ADD PARTITION");
  } else if (tokens_.acceptWord("add")) {
    alter.kind = Kind::AddColumns;
    parseAddColumns(&alter);
  } else if (tokens_.acceptWords({"replace", "columns"})) {
    alter.kind = Kind::ReplaceColumns;
    alter.columns = parseColumnDefinitions();
  } else if (tokens_.acceptWords({"drop", "constraint"})) {
    alter.kind = Kind::DropConstraint;
    alter.ifExists = acceptIfExists();
    alter.constraint = tokens_.expectIdentifier();
  } else if (tokens_.acceptWords({"drop", "feature"})) {
    alter.kind = Kind::DropFeature;
    alter.constraint = tokens_.peek().kind == TokenKind::String ? tokens_.expectString() : tokens_.expectIdentifier();
    alter.truncateHistory = tokens_.acceptWords({"truncate", "history"});
  } else if (tokens_.acceptWords({"drop", "column"}) || tokens_.acceptWords({"drop", "columns"})) {
    alter.kind = Kind::DropColumns;
    alter.ifExists = acceptIfExists();
    const bool list = tokens_.acceptSymbol("(");
    do {
      alter.columnNames.push_back(tokens_.expectMultipartIdentifier());
    } while (tokens_.acceptSymbol(","));
    if (list) tokens_.expectSymbol(")");
  } else if (tokens_.acceptWords({"rename", "column"})) {
    alter.kind = Kind::RenameColumn;
    alter.columnNames.push_back(tokens_.expectMultipartIdentifier());
    tokens_.expectWord("to");
    alter.newName = tokens_.expectIdentifier();
  } else if (tokens_.acceptWords({"rename", "to"})) {
    alter.kind = Kind::RenameTable;
    alter.newTable = parser_.parseName();
  } else if (tokens_.peekAnyWord({"alter", "change"})) {
    parseAlterColumn(&alter);
  } else if (tokens_.acceptWords({"set", "tblproperties"})) {
    alter.kind = Kind::SetProperties;
    alter.properties = parseProperties();
  } else if (tokens_.acceptWords({"unset", "tblproperties"})) {
    alter.kind = Kind::UnsetProperties;
    alter.ifExists = acceptIfExists();
    tokens_.expectSymbol("(");
    do {
      alter.keys.push_back(parsePropertyKey());
    } while (tokens_.acceptSymbol(","));
    tokens_.expectSymbol(")");
  } else if (tokens_.acceptWords({"set", "location"})) {
    alter.kind = Kind::SetLocation;
    alter.location = tokens_.expectString();
  } else if (alter.isView && tokens_.acceptWord("as")) {
    alter.kind = Kind::ViewQuery;
    const size_t first = tokens_.position();
    parser_.refuseParameters("the query of ALTER VIEW");
    alter.query = parseQueryMessage();
    alter.queryText = tokens_.textSince(first);
  } else if (tokens_.acceptWords({"cluster", "by"})) {
    alter.kind = Kind::ClusterBy;
    alter.columnNames = parseClusterColumns();
  } else {
    if (tokens_.peekIdentifier()) throw unsupported("ALTER TABLE … " + toLowerAscii(tokens_.peek().text));
    tokens_.fail();
  }
  return alter;
}

void StatementParser::parseAddColumns(AlterTable* alter) {
  if (!tokens_.acceptWord("columns")) tokens_.expectWord("column");
  if (tokens_.peekSymbol("(")) {
    alter->columns = parseColumnDefinitions();
    return;
  }
  do {
    alter->columns.push_back(parseColumnDefinition());
  } while (tokens_.acceptSymbol(","));
}

// ALTER|CHANGE [COLUMN] c TYPE t | COMMENT 'x' | FIRST | AFTER d | SET|DROP NOT NULL | SET|DROP DEFAULT | SYNC IDENTITY;
// CHANGE COLUMN c c type [COMMENT 'x'] in Hive's form.
void StatementParser::parseAlterColumn(AlterTable* alter) {
  alter->kind = AlterTable::Kind::AlterColumn;
  const bool change = tokens_.acceptWord("change");
  if (!change) tokens_.take();
  tokens_.acceptWord("column");
  alter->columnNames.push_back(tokens_.expectMultipartIdentifier());
  if (change && tokens_.peekIdentifier() && tokens_.peekIdentifier(1) &&
      !tokens_.peekAnyWord({"type", "comment", "after", "set", "drop"})) {
    const std::string name = tokens_.expectIdentifier();
    if (!equalsIgnoreCase(name, alter->columnNames[0].back())) throw unsupported("CHANGE COLUMN that renames a column");
    alter->newType = tokens_.expectType(&alter->newBounds);
  }
  for (;;) {
    if (tokens_.acceptWord("type")) {
      alter->newType = tokens_.expectType(&alter->newBounds);
    } else if (tokens_.acceptWord("comment")) {
      alter->comment = tokens_.expectString();
    } else if (tokens_.acceptWord("first")) {
      alter->first = true;
    } else if (tokens_.acceptWord("after")) {
      alter->after = tokens_.expectIdentifier();
    } else if (tokens_.acceptWords({"set", "not", "null"})) {
      alter->nullable = false;
    } else if (tokens_.acceptWords({"drop", "not", "null"})) {
      alter->nullable = true;
    } else if (tokens_.acceptWords({"set", "default"})) {
      const size_t first = tokens_.position();
      parser_.parseExpression();
      alter->setDefault = tokens_.textSince(first);
    } else if (tokens_.acceptWords({"drop", "default"})) {
      alter->dropDefault = true;
    } else if (tokens_.acceptWords({"sync", "identity"})) {
      alter->syncIdentity = true;
    } else {
      return;
    }
  }
}

}  // namespace thalweg::sql
