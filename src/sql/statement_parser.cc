#include "sql/statement_parser.h"

#include "common/error.h"
#include "common/options.h"
#include "spark/connect/expressions.pb.h"
#include "spark/connect/relations.pb.h"

namespace thalweg::sql {
namespace {

std::string trimmed(std::string text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::string unquoted(const std::string& text) {
  return text.size() > 1 && text.front() == '`' && text.back() == '`' ? quotedWordValue(text) : text;
}

}  // namespace

Statement parseStatement(std::string_view text, const ParseOptions& options) {
  return StatementParser(text, options).parse();
}

Statement StatementParser::parse() {
  while (tokens_.acceptSymbol(";")) {
  }
  if (tokens_.atEnd()) throw Error("PARSE_EMPTY_STATEMENT", "The SQL text is empty: give a statement.");
  Statement statement = parseOne();
  while (tokens_.acceptSymbol(";")) {
  }
  tokens_.expectEnd();
  return statement;
}

Statement StatementParser::parseOne() {
  if (parser_.peekQuery()) return Query{parseQueryMessage()};
  if (tokens_.acceptWord("set")) return parseSet();
  if (tokens_.acceptWord("reset")) return parseReset();
  if (tokens_.acceptWord("create")) return parseCreate(false);
  if (tokens_.peekWords({"replace", "table"})) return parseCreate(true);
  if (tokens_.acceptWord("drop")) return parseDrop();
  if (tokens_.acceptWord("alter")) return parseAlter();
  if (tokens_.acceptWord("insert")) return parseInsert();
  if (tokens_.acceptWord("update")) return parseUpdate();
  if (tokens_.acceptWord("delete")) return parseDelete();
  if (tokens_.acceptWord("merge")) return parseMerge();
  if (tokens_.acceptWord("show")) return parseShow();
  if (tokens_.acceptWord("describe") || tokens_.acceptWord("desc")) return parseDescribe();
  if (tokens_.acceptWord("use")) return parseUse();
  if (tokens_.acceptWord("explain")) return parseExplain();
  if (tokens_.acceptWord("optimize")) return parseOptimize();
  if (tokens_.acceptWord("vacuum")) return parseVacuum();
  if (tokens_.acceptWord("restore")) return parseRestore();
  if (tokens_.acceptWord("reorg")) return parseReorg();
  if (tokens_.acceptWord("copy")) return parseCopyInto();
  if (tokens_.acceptWord("truncate")) return parseTruncate();
  if (tokens_.acceptWord("convert")) return parseConvert();
  if (tokens_.acceptWord("refresh")) return parseRefresh();
  if (tokens_.acceptWord("cache")) return parseCache();
  if (tokens_.peekWord("uncache") || tokens_.peekWords({"clear", "cache"})) return parseUncache();
  if (tokens_.acceptWords({"comment", "on"})) return parseComment();
  for (const char* word : {"analyze", "msck", "load", "export", "import", "grant", "revoke", "declare", "begin", "call",
                           "execute", "add", "list"}) {
    if (tokens_.peekWord(word) && tokens_.peekIdentifier(1)) throw unsupported(std::string("the statement ") + word);
  }
  tokens_.fail();
}

// SET [-v] | SET key [= value]; the value is what is written, up to the end or a ';'.
Statement StatementParser::parseSet() {
  if (tokens_.atEnd()) return GetConf{};
  if (tokens_.peekSymbol("-") && tokens_.peekWord("v", 1)) {
    tokens_.take();
    tokens_.take();
    return GetConf{};
  }
  if (tokens_.acceptWords({"time", "zone"})) {
    if (tokens_.peekWord("interval")) throw unsupported("SET TIME ZONE INTERVAL (name the offset: SET TIME ZONE '+03:00')");
    const std::string zone = tokens_.peek().kind == TokenKind::String ? tokens_.expectString() : tokens_.expectIdentifier();
    return SetConf{"spark.sql.session.timeZone", zone};
  }
  if (tokens_.peekWord("catalog") && tokens_.peek(1).kind != TokenKind::End && !tokens_.peekSymbol("=", 1) &&
      !tokens_.peekSymbol(".", 1)) {
    tokens_.take();
    return UseSchema{parser_.parseName(), true};
  }
  const size_t first = tokens_.position();
  while (!tokens_.atEnd() && !tokens_.peekSymbol("=") && !tokens_.peekSymbol(";")) tokens_.take();
  if (tokens_.position() == first) tokens_.fail();
  std::string key = unquoted(trimmed(tokens_.textSince(first)));
  if (!tokens_.acceptSymbol("=")) return GetConf{std::move(key)};
  const size_t valueAt = tokens_.position();
  while (!tokens_.atEnd() && !tokens_.peekSymbol(";")) tokens_.take();
  std::string value = tokens_.position() == valueAt ? "" : unquoted(trimmed(tokens_.textSince(valueAt)));
  return SetConf{std::move(key), std::move(value)};
}

Statement StatementParser::parseReset() {
  const size_t first = tokens_.position();
  while (!tokens_.atEnd() && !tokens_.peekSymbol(";")) tokens_.take();
  if (tokens_.position() == first) return ResetConf{};
  return ResetConf{unquoted(trimmed(tokens_.textSince(first)))};
}

std::optional<std::string> StatementParser::acceptLikePattern() {
  const bool like = tokens_.acceptWord("like");
  if (!like && tokens_.peek().kind != TokenKind::String) return std::nullopt;
  return tokens_.expectString();
}

Statement StatementParser::parseShow() {
  using Kind = ShowTables::Kind;
  ShowTables show;
  if (tokens_.acceptWords({"create", "table"})) {
    show.kind = Kind::CreateTable;
    show.name = parser_.parseName();
    return show;
  }
  if (tokens_.acceptWords({"current", "namespace"}) || tokens_.acceptWords({"current", "schema"}) || tokens_.acceptWords({"current", "database"})) {
    show.kind = Kind::CurrentNamespace;
    return show;
  }
  if (tokens_.acceptWord("user")) show.systemFunctions = false;
  else if (tokens_.acceptWord("system")) show.userFunctions = false;
  else tokens_.acceptWord("all");
  const std::string word = toLowerAscii(tokens_.expectIdentifier());
  if (word == "tables") show.kind = Kind::Tables;
  else if (word == "views") show.kind = Kind::Views;
  else if (word == "schemas" || word == "databases" || word == "namespaces") show.kind = Kind::Schemas;
  else if (word == "columns") show.kind = Kind::Columns;
  else if (word == "tblproperties") show.kind = Kind::TableProperties;
  else if (word == "catalogs") show.kind = Kind::Catalogs;
  else if (word == "functions") show.kind = Kind::Functions;
  else if (word == "partitions") show.kind = Kind::Partitions;
  else throw unsupported("SHOW " + word);
  if (show.kind == Kind::TableProperties || show.kind == Kind::Partitions) {
    show.name = parser_.parseName();
    if (show.kind == Kind::TableProperties && tokens_.acceptSymbol("(")) {
      show.key = parsePropertyKey();
      tokens_.expectSymbol(")");
    }
    return show;
  }
  if (tokens_.acceptWord("from") || tokens_.acceptWord("in")) show.name = parser_.parseName();
  if (show.kind == Kind::Columns && (tokens_.acceptWord("from") || tokens_.acceptWord("in"))) {
    Name schema = parser_.parseName();
    show.name.insert(show.name.begin(), schema.begin(), schema.end());
  }
  if (show.kind == Kind::Columns && show.name.empty()) tokens_.fail();
  show.pattern = acceptLikePattern();
  return show;
}

Name StatementParser::parseNameOrPath() {
  return tokens_.peek().kind == TokenKind::String ? Name{"delta", tokens_.expectString()} : parser_.parseName();
}

Statement StatementParser::parseDescribe() {
  if (tokens_.acceptWord("history")) {
    DescribeHistory history{parseNameOrPath()};
    if (tokens_.acceptWord("limit")) history.limit = tokens_.expectInteger();
    return history;
  }
  if (tokens_.peekWord("detail") && (tokens_.peekIdentifier(1) || tokens_.peek(1).kind == TokenKind::String)) {
    tokens_.take();
    return DescribeDetail{parseNameOrPath()};
  }
  // TABLE t is a query elsewhere.
  const bool isTable = tokens_.peekWord("table");
  if (tokens_.acceptWord("query") || (!isTable && parser_.peekQuery())) return DescribeQuery{parseQueryMessage()};
  if (tokens_.peekAnyWord({"schema", "database", "namespace"}) && tokens_.peekIdentifier(1)) {
    tokens_.take();
    const bool extended = tokens_.acceptWord("extended");
    return DescribeSchema{parser_.parseName(), extended};
  }
  if (tokens_.peekWord("function") && tokens_.peekIdentifier(1)) {
    tokens_.take();
    const bool extended = tokens_.acceptWord("extended");
    return DescribeFunction{parser_.parseName(), extended};
  }
  if (tokens_.peekWord("table") && tokens_.peekIdentifier(1)) tokens_.take();
  DescribeTable describe;
  if (tokens_.peekAnyWord({"extended", "formatted"}) && tokens_.peekIdentifier(1)) {
    tokens_.take();
    describe.extended = true;
  }
  describe.table = parser_.parseName();
  if (tokens_.peekIdentifier()) describe.column = tokens_.expectMultipartIdentifier();
  return describe;
}

Statement StatementParser::parseUse() {
  UseSchema use;
  use.isCatalog = tokens_.peekWord("catalog") && tokens_.peekIdentifier(1);
  if (use.isCatalog || (tokens_.peekAnyWord({"schema", "database", "namespace"}) && tokens_.peekIdentifier(1))) tokens_.take();
  use.schema = parser_.parseName();
  return use;
}

Statement StatementParser::parseExplain() {
  auto explain = std::make_shared<Explain>();
  explain->mode = "simple";
  for (const char* mode : {"extended", "codegen", "cost", "formatted", "logical"}) {
    if (tokens_.acceptWord(mode)) {
      explain->mode = mode;
      break;
    }
  }
  // EXPLAIN EXPLAIN … says nothing and would recurse without a bound.
  if (tokens_.peekWord("explain")) tokens_.fail();
  explain->statement = parseOne();
  return explain;
}

Statement StatementParser::parseCache() {
  Cache cache;
  cache.lazy = tokens_.acceptWord("lazy");
  tokens_.expectWord("table");
  cache.table = parser_.parseName();
  if (tokens_.acceptWord("options")) cache.options = parseProperties();
  if (tokens_.acceptWord("as") || parser_.peekQuery()) cache.query = parseQueryMessage();
  return cache;
}

Statement StatementParser::parseUncache() {
  if (tokens_.acceptWords({"clear", "cache"})) return Uncache{};
  tokens_.expectWord("uncache");
  tokens_.expectWord("table");
  Uncache uncache;
  uncache.ifExists = acceptIfExists();
  uncache.table = parser_.parseName();
  return uncache;
}

Statement StatementParser::parseRefresh() {
  if (tokens_.peek().kind == TokenKind::String) return Refresh{{}, tokens_.expectString()};
  if (tokens_.peekWord("function")) throw unsupported("REFRESH FUNCTION");
  if (tokens_.peekWord("table") && tokens_.peekIdentifier(1)) tokens_.take();
  return Refresh{parser_.parseName(), std::nullopt};
}

Statement StatementParser::parseComment() {
  CommentOn comment;
  comment.isSchema = tokens_.peekAnyWord({"schema", "database", "namespace"});
  if (!comment.isSchema && !tokens_.peekWord("table")) tokens_.fail();
  tokens_.take();
  comment.name = parser_.parseName();
  tokens_.expectWord("is");
  if (!tokens_.acceptWord("null")) comment.comment = tokens_.expectString();
  return comment;
}

}  // namespace thalweg::sql
