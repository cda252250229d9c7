// INSERT, UPDATE, DELETE, MERGE, COPY INTO, and Delta's maintenance statements.
#include <charconv>

#include "common/error.h"
#include "common/options.h"
#include "spark/connect/expressions.pb.h"
#include "spark/connect/relations.pb.h"
#include "sql/statement_parser.h"

namespace thalweg::sql {

Statement StatementParser::parseInsert() {
  InsertInto insert;
  parser_.setSubqueries(&insert.subqueries);
  insert.withSchemaEvolution = tokens_.acceptWords({"with", "schema", "evolution"});
  insert.overwrite = tokens_.acceptWord("overwrite");
  if (!insert.overwrite) tokens_.expectWord("into");
  if (tokens_.peekWord("directory") || tokens_.peekWords({"local", "directory"})) throw unsupported("INSERT OVERWRITE DIRECTORY");
  if (tokens_.peekWord("table") && tokens_.peekIdentifier(1)) tokens_.take();
  insert.table = parser_.parseName();
  if (tokens_.acceptWord("partition")) {
    tokens_.expectSymbol("(");
    do {
      std::string column = tokens_.expectIdentifier();
      ExpressionPtr value;
      std::string text;
      if (tokens_.acceptSymbol("=")) {
        const size_t first = tokens_.position();
        value = parseExpressionMessage();
        text = tokens_.textSince(first);
      }
      insert.partition.emplace_back(std::move(column), std::move(value));
      insert.partitionTexts.push_back(std::move(text));
    } while (tokens_.acceptSymbol(","));
    tokens_.expectSymbol(")");
    insert.ifPartitionNotExists = acceptIfNotExists();
  }
  if (tokens_.acceptWords({"by", "name"})) insert.byName = true;
  else if (tokens_.peekSymbol("(") && !parser_.peekQuery()) insert.columns = tokens_.expectIdentifierList();
  if (tokens_.acceptWords({"replace", "where"})) {
    const size_t first = tokens_.position();
    insert.replaceWhere = parseExpressionMessage();
    insert.replaceWhereText = tokens_.textSince(first);
  }
  insert.query = parseQueryMessage();
  return insert;
}

std::vector<Assignment> StatementParser::parseAssignments() {
  std::vector<Assignment> assignments;
  do {
    Name column = tokens_.expectMultipartIdentifier();
    if (!tokens_.acceptSymbol("==")) tokens_.expectSymbol("=");
    assignments.push_back({std::move(column), parser_.parseExpressionOrDefault().message});
  } while (tokens_.acceptSymbol(","));
  return assignments;
}

Statement StatementParser::parseUpdate() {
  Update update;
  parser_.setSubqueries(&update.subqueries);
  update.table = parser_.parseName();
  update.alias = parser_.parseOptionalTableAlias();
  tokens_.expectWord("set");
  update.assignments = parseAssignments();
  if (tokens_.acceptWord("where")) update.condition = parseExpressionMessage();
  return update;
}

Statement StatementParser::parseDelete() {
  Delete remove;
  parser_.setSubqueries(&remove.subqueries);
  tokens_.expectWord("from");
  remove.table = parser_.parseName();
  remove.alias = parser_.parseOptionalTableAlias();
  if (tokens_.acceptWord("where")) remove.condition = parseExpressionMessage();
  return remove;
}

Statement StatementParser::parseMerge() {
  Merge merge;
  parser_.setSubqueries(&merge.subqueries);
  merge.withSchemaEvolution = tokens_.acceptWords({"with", "schema", "evolution"});
  tokens_.expectWord("into");
  merge.target = parser_.parseName();
  if (!tokens_.peekWord("using")) merge.targetAlias = parser_.parseOptionalTableAlias();
  tokens_.expectWord("using");
  merge.source = parser_.parseRelationPrimary().message;
  tokens_.expectWord("on");
  merge.condition = parseExpressionMessage();
  while (tokens_.acceptWord("when")) {
    MergeClause clause = parseMergeClause();
    for (const MergeClause& earlier : merge.clauses) {
      if (earlier.when != clause.when || earlier.condition) continue;
      const bool matched = clause.when == MergeClause::When::Matched;
      throw Error(matched ? "NON_LAST_MATCHED_CLAUSE_OMIT_CONDITION" : "NON_LAST_NOT_MATCHED_BY_TARGET_CLAUSE_OMIT_CONDITION",
                  "Of several WHEN clauses of one kind only the last may be without AND condition: give the others one.");
    }
    merge.clauses.push_back(std::move(clause));
  }
  if (merge.clauses.empty()) throw Error("MERGE_WITHOUT_WHEN", "MERGE needs at least one WHEN clause.");
  return merge;
}

MergeClause StatementParser::parseMergeClause() {
  using When = MergeClause::When;
  using Action = MergeClause::Action;
  MergeClause clause;
  if (tokens_.acceptWord("not")) {
    tokens_.expectWord("matched");
    clause.when = tokens_.acceptWords({"by", "source"}) ? When::NotMatchedBySource : When::NotMatchedByTarget;
    tokens_.acceptWords({"by", "target"});
  } else {
    tokens_.expectWord("matched");
  }
  if (tokens_.acceptWord("and")) clause.condition = parseExpressionMessage();
  tokens_.expectWord("then");
  const bool insert = clause.when == When::NotMatchedByTarget;
  if (insert) {
    tokens_.expectWord("insert");
    if (tokens_.acceptSymbol("*")) {
      clause.action = Action::InsertAll;
      return clause;
    }
    clause.action = Action::Insert;
    std::vector<Name> columns;
    tokens_.expectSymbol("(");
    do {
      columns.push_back(tokens_.expectMultipartIdentifier());
    } while (tokens_.acceptSymbol(","));
    tokens_.expectSymbol(")");
    tokens_.expectWord("values");
    tokens_.expectSymbol("(");
    for (size_t i = 0; i < columns.size(); ++i) {
      if (i) tokens_.expectSymbol(",");
      clause.assignments.push_back({std::move(columns[i]), parser_.parseExpressionOrDefault().message});
    }
    tokens_.expectSymbol(")");
  } else if (tokens_.acceptWord("delete")) {
    clause.action = Action::Delete;
  } else {
    tokens_.expectWord("update");
    tokens_.expectWord("set");
    clause.action = tokens_.acceptSymbol("*") ? Action::UpdateAll : Action::Update;
    if (clause.action == Action::Update) clause.assignments = parseAssignments();
  }
  return clause;
}

Statement StatementParser::parseOptimize() {
  Optimize optimize;
  optimize.table = parseNameOrPath();
  optimize.full = tokens_.acceptWord("full");
  if (tokens_.acceptWord("where")) {
    const size_t first = tokens_.position();
    optimize.condition = parseExpressionMessage();
    optimize.conditionText = tokens_.textSince(first);
  }
  if (tokens_.acceptWords({"zorder", "by"})) {
    const bool parenthesis = tokens_.acceptSymbol("(");
    do {
      optimize.zorderBy.push_back(tokens_.expectMultipartIdentifier());
    } while (tokens_.acceptSymbol(","));
    if (parenthesis) tokens_.expectSymbol(")");
  }
  return optimize;
}

Statement StatementParser::parseVacuum() {
  Vacuum vacuum;
  vacuum.table = parseNameOrPath();
  for (;;) {
    if (tokens_.acceptWord("retain")) {
      const std::string digits(tokens_.peek().text);
      double hours = 0;
      auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), hours);
      if (tokens_.peek().kind != TokenKind::Number || status != std::errc() || end != digits.data() + digits.size()) tokens_.fail();
      tokens_.take();
      tokens_.expectWord("hours");
      vacuum.retainHours = hours;
    } else if (tokens_.acceptWords({"dry", "run"})) {
      vacuum.dryRun = true;
    } else if (tokens_.acceptWord("lite")) {
      vacuum.lite = true;
    } else if (!tokens_.acceptWord("full")) {
      return vacuum;
    }
  }
}

Statement StatementParser::parseRestore() {
  Restore restore;
  if (tokens_.peekWord("table") && tokens_.peekIdentifier(1)) tokens_.take();
  restore.table = parser_.parseName();
  tokens_.acceptWord("to");
  if (!parser_.peekTimeTravel()) tokens_.fail();
  restore.to = parser_.parseTimeTravel();
  return restore;
}

Statement StatementParser::parseReorg() {
  tokens_.expectWord("table");
  Reorg reorg{parser_.parseName()};
  if (tokens_.acceptWord("where")) reorg.condition = parseExpressionMessage();
  tokens_.expectWord("apply");
  tokens_.expectSymbol("(");
  if (!tokens_.acceptWord("purge")) throw unsupported("REORG TABLE APPLY of anything but PURGE");
  tokens_.expectSymbol(")");
  return reorg;
}

Statement StatementParser::parseCopyInto() {
  CopyInto copy;
  tokens_.expectWord("into");
  copy.table = parser_.parseName();
  if (tokens_.peekSymbol("(")) copy.columns = tokens_.expectIdentifierList();
  tokens_.expectWord("from");
  if (tokens_.peekSymbol("(")) throw unsupported("COPY INTO from a SELECT");
  copy.path = tokens_.peek().kind == TokenKind::String ? tokens_.expectString() : tokens_.expectIdentifier();
  tokens_.expectWord("fileformat");
  tokens_.expectSymbol("=");
  copy.format = tokens_.expectIdentifier();
  for (;;) {
    if (tokens_.acceptWord("files")) {
      tokens_.expectSymbol("=");
      tokens_.expectSymbol("(");
      do {
        copy.files.push_back(tokens_.expectString());
      } while (tokens_.acceptSymbol(","));
      tokens_.expectSymbol(")");
    } else if (tokens_.acceptWord("pattern")) {
      tokens_.expectSymbol("=");
      copy.pattern = tokens_.expectString();
    } else if (tokens_.acceptWord("format_options")) {
      copy.formatOptions = parseProperties();
    } else if (tokens_.acceptWord("copy_options")) {
      copy.copyOptions = parseProperties();
    } else {
      return copy;
    }
  }
}

Statement StatementParser::parseTruncate() {
  tokens_.expectWord("table");
  Truncate truncate{parser_.parseName()};
  if (tokens_.peekWord("partition")) throw unsupported("TRUNCATE TABLE … PARTITION");
  return truncate;
}

Statement StatementParser::parseConvert() {
  tokens_.expectWord("to");
  tokens_.expectWord("delta");
  ConvertToDelta convert{parser_.parseName()};
  convert.statistics = !tokens_.acceptWords({"no", "statistics"});
  if (tokens_.acceptWords({"partitioned", "by"})) convert.partitionedBy = parseColumnDefinitions();
  return convert;
}

}  // namespace thalweg::sql
