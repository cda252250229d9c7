#include "sql/parser.h"

#include <cctype>

#include "common/error.h"
#include "spark/connect/expressions.pb.h"
#include "spark/connect/relations.pb.h"
#include "sql/sql_parser.h"

namespace thalweg::sql {
namespace {

void refuseEmpty(const TokenStream& tokens) {
  if (tokens.atEnd()) throw Error("PARSE_EMPTY_STATEMENT", "The SQL text is empty: give a statement or an expression.");
}

}  // namespace

void parseQuery(std::string_view text, spark::connect::Relation* relation, const ParseOptions& options) {
  SqlParser parser(text, options);
  refuseEmpty(parser.tokens());
  Plan plan = parser.parseQuery();
  while (parser.tokens().acceptSymbol(";")) {
  }
  parser.tokens().expectEnd();
  relation->Swap(plan.message.get());
}

void parseExpression(std::string_view text, spark::connect::Expression* expression, const ParseOptions& options) {
  SqlParser parser(text, options);
  refuseEmpty(parser.tokens());
  Node node = parser.parseNamedExpression();
  parser.tokens().expectEnd();
  expression->Swap(node.message.get());
}

std::vector<std::string> parseMultipartIdentifier(std::string_view text) {
  TokenStream tokens(text);
  refuseEmpty(tokens);
  std::vector<std::string> parts = tokens.expectMultipartIdentifier();
  tokens.expectEnd();
  return parts;
}

std::vector<std::string> parseTableName(std::string_view text) {
  std::vector<std::string> parts = parseMultipartIdentifier(text);
  if (parts.size() > 3) {
    throw Error("IDENTIFIER_TOO_MANY_NAME_PARTS",
                "The name " + unparsedIdentifier(parts) + " has " + std::to_string(parts.size()) +
                    " parts; a table's name has at most three: catalog, schema, table.",
                {{"identifier", unparsedIdentifier(parts)}, {"limit", "3"}});
  }
  return parts;
}

std::string unparsedIdentifier(const std::vector<std::string>& parts) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i) text += '.';
    bool plain = !parts[i].empty();
    for (char c : parts[i]) plain = plain && (std::isalnum(static_cast<unsigned char>(c)) || c == '_' || (c & 0x80));
    if (plain) {
      text += parts[i];
      continue;
    }
    text += '`';
    for (char c : parts[i]) text += c == '`' ? std::string("``") : std::string(1, c);
    text += '`';
  }
  return text;
}

}  // namespace thalweg::sql
