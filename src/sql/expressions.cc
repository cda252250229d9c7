// Operators and predicates, by Spark's precedence: OR, AND, NOT, one predicate, comparison, |, ^, &, shifts, + - ||,
// * / % DIV, unary.
#include <map>

#include "common/error.h"
#include "common/options.h"
#include "spark/connect/common.pb.h"
#include "spark/connect/expressions.pb.h"
#include "spark/connect/relations.pb.h"
#include "sql/sql_parser.h"
#include "thalweg.pb.h"

namespace thalweg::sql {
namespace {

constexpr int kComparison = 1;

struct OperatorEntry {
  int precedence;
  const char* function;  // PySpark's name; nullptr where two functions are needed
};

// By symbol as written; words in lower case.
const std::map<std::string_view, OperatorEntry>& operators() {
  static const std::map<std::string_view, OperatorEntry> kOperators = {
      {"=", {kComparison, "=="}},   {"==", {kComparison, "=="}}, {"<=>", {kComparison, "<=>"}},
      {"<>", {kComparison, nullptr}}, {"!=", {kComparison, nullptr}}, {"<", {kComparison, "<"}},
      {"<=", {kComparison, "<="}},  {"!>", {kComparison, "<="}}, {">", {kComparison, ">"}},
      {">=", {kComparison, ">="}},  {"!<", {kComparison, ">="}}, {"|", {2, "|"}},
      {"^", {3, "^"}},              {"&", {4, "&"}},             {"<<", {5, "shiftleft"}},
      {">>", {5, "shiftright"}},    {">>>", {5, "shiftrightunsigned"}}, {"+", {6, "+"}},
      {"-", {6, "-"}},              {"||", {6, "concat"}},       {"*", {7, "*"}},
      {"/", {7, "/"}},              {"%", {7, "%"}},             {"div", {7, "div"}}};
  return kOperators;
}

}  // namespace

SqlParser::Level::Level(SqlParser& parser, int cost) : parser_(parser), cost_(cost) {
  raisedHeight(parser.depth_ + cost - 1);
  parser_.depth_ += cost;
}

Node SqlParser::placed(Node node, size_t first) const {
  const auto [start, stop] = tokens_.rangeSince(first);
  auto* origin = node.message->mutable_common()->mutable_origin()->mutable_jvm_origin();
  origin->set_start_index(static_cast<int>(start));
  origin->set_stop_index(static_cast<int>(stop) - 1);
  return node;
}

Node SqlParser::copied(const Node& node) {
  constexpr size_t kMaxCopiedBytes = 16 << 20;
  copiedBytes_ += node.message->ByteSizeLong() + sizeof(*node.message);
  if (copiedBytes_ > kMaxCopiedBytes) {
    throw Error("SQL_TEXT_TOO_LONG", "The SQL text repeats a large expression too often (a CASE subject, a named window, "
                                     "a parameter): compute it once in a subquery.");
  }
  return {ExpressionPtr(new spark::connect::Expression(*node.message)), node.height};
}

Node SqlParser::parseExpression() {
  Level level(*this, 1);
  return parseOr();
}

// A chain of n operands is n/2 + … high when balanced, so that long conditions stay shallow.
Node SqlParser::balanced(const std::string& function, Nodes& operands, size_t low, size_t high) {
  if (low == high) return std::move(operands[low]);
  const size_t middle = high - low == 1 ? low : low + (high - low) / 2;
  Node left = balanced(function, operands, low, middle);
  Node right = balanced(function, operands, middle + 1, high);
  return callNode(function, nodes(std::move(left), std::move(right)));
}

Node SqlParser::parseOr() {
  const size_t first = tokens_.position();
  Nodes operands = nodes(parseAnd());
  while (tokens_.acceptWord("or")) operands.push_back(parseAnd());
  if (operands.size() == 1) return std::move(operands[0]);
  return placed(balanced("or", operands, 0, operands.size() - 1), first);
}

Node SqlParser::parseAnd() {
  const size_t first = tokens_.position();
  Nodes operands = nodes(parseNot());
  while (tokens_.acceptWord("and")) operands.push_back(parseNot());
  if (operands.size() == 1) return std::move(operands[0]);
  return placed(balanced("and", operands, 0, operands.size() - 1), first);
}

Node SqlParser::parseNot() {
  const size_t first = tokens_.position();
  int count = 0;
  while (tokens_.acceptWord("not") || tokens_.acceptSymbol("!")) ++count;
  Node node = parsePredicate();
  for (; count > 0; --count) node = placed(notNode(std::move(node)), first);
  return node;
}

Node SqlParser::parsePredicate() {
  const size_t first = tokens_.position();
  return parsePredicateTail(parseBinary(kComparison), first);
}

Node SqlParser::parsePredicateTail(Node left, size_t first) {
  if (tokens_.acceptWord("is")) return placed(parseIs(std::move(left)), first);
  const size_t ahead = tokens_.peekWord("not") || tokens_.peekSymbol("!") ? 1 : 0;
  if (!tokens_.peekAnyWord({"between", "in", "like", "ilike", "rlike", "regexp"}, ahead)) return left;
  if (ahead) tokens_.take();
  const std::string word = toLowerAscii(tokens_.take().text);
  Node node;
  if (word == "between") {
    Node low = parseValueExpression();
    tokens_.expectWord("and");
    node = callNode("between", nodes(std::move(left), std::move(low), parseValueExpression()));
  } else if (word == "in") {
    node = parseIn(std::move(left));
  } else if (word == "like" || word == "ilike") {
    node = parseLike(std::move(left), word);
  } else {
    node = callNode("rlike", nodes(std::move(left), parseValueExpression()));
  }
  return placed(ahead ? notNode(std::move(node)) : std::move(node), first);
}

Node SqlParser::parseIn(Node left) {
  tokens_.expectSymbol("(");
  if (peekQuery()) {
    Nodes values;
    if (left.message->unresolved_function().function_name() == "struct") {
      auto* arguments = left.message->mutable_unresolved_function()->mutable_arguments();
      while (!arguments->empty()) {
        values.insert(values.begin(), Node{ExpressionPtr(arguments->ReleaseLast()), left.height});
      }
    } else {
      values.push_back(std::move(left));
    }
    Node node = subqueryNode(spark::connect::SubqueryExpression::SUBQUERY_TYPE_IN, std::move(values));
    tokens_.expectSymbol(")");
    return node;
  }
  Nodes arguments = nodes(std::move(left));
  do {
    arguments.push_back(parseExpression());
  } while (tokens_.acceptSymbol(","));
  tokens_.expectSymbol(")");
  return callNode("in", std::move(arguments));
}

Node SqlParser::parseLike(Node left, const std::string& function) {
  if (tokens_.peekAnyWord({"any", "some", "all"}) && tokens_.peekSymbol("(", 1)) {
    return parseQuantifiedLike(std::move(left), function);
  }
  Nodes arguments = nodes(std::move(left), parseValueExpression());
  if (tokens_.acceptWord("escape")) {
    const size_t at = tokens_.position();
    std::string escape = tokens_.expectString();
    if (escape.size() != 1) {
      tokens_.rewind(at);
      throw Error("INVALID_ESCAPE_CHAR", "ESCAPE takes a string of one character, not '" + escape + "'.",
                  {{"sqlExpr", tokens_.textSince(at)}});
    }
    arguments.push_back(stringNode(std::move(escape)));
  }
  return callNode(function, std::move(arguments));
}

// x LIKE ANY (a, b) is x LIKE a OR x LIKE b, three-valued logic included.
Node SqlParser::parseQuantifiedLike(Node left, const std::string& function) {
  const bool all = tokens_.peekWord("all");
  tokens_.take();
  tokens_.expectSymbol("(");
  Nodes tests;
  do {
    Node copy = copied(left);
    tests.push_back(callNode(function, nodes(std::move(copy), parseValueExpression())));
  } while (tokens_.acceptSymbol(","));
  tokens_.expectSymbol(")");
  return balanced(all ? "and" : "or", tests, 0, tests.size() - 1);
}

Node SqlParser::parseIs(Node left) {
  const bool negated = tokens_.acceptWord("not");
  if (tokens_.acceptWord("null") || tokens_.acceptWord("unknown")) {
    return callNode(negated ? "isNotNull" : "isNull", nodes(std::move(left)));
  }
  if (tokens_.acceptWords({"distinct", "from"})) {
    Node equal = callNode("<=>", nodes(std::move(left), parseValueExpression()));
    return negated ? std::move(equal) : notNode(std::move(equal));
  }
  const bool isTrue = tokens_.peekWord("true");
  if (!isTrue && !tokens_.peekWord("false")) tokens_.fail();
  tokens_.take();
  Node equal = callNode("<=>", nodes(std::move(left), booleanNode(isTrue)));
  return negated ? notNode(std::move(equal)) : std::move(equal);
}

Node SqlParser::parseValueExpression() {
  Level level(*this, 1);
  return parseBinary(kComparison);
}

std::optional<std::pair<std::string, int>> SqlParser::peekOperator(size_t* tokenCount) const {
  const Token& token = tokens_.peek();
  *tokenCount = 1;
  std::string symbol(token.text);
  if (token.kind == TokenKind::Word) symbol = toLowerAscii(symbol) == "div" ? "div" : "";
  else if (token.kind != TokenKind::Symbol) return std::nullopt;
  if (symbol == ">") {
    // Shifts are '>' side by side, since the lexer keeps them apart for types.
    while (*tokenCount < 3 && tokens_.peekSymbol(">", *tokenCount) &&
           tokens_.peek(*tokenCount).start == tokens_.peek(*tokenCount - 1).stop) {
      symbol += '>';
      ++*tokenCount;
    }
  }
  const auto entry = operators().find(symbol);
  if (entry == operators().end()) return std::nullopt;
  return std::pair(symbol, entry->second.precedence);
}

Node SqlParser::applyOperator(const std::string& symbol, Node left, Node right) {
  const OperatorEntry& entry = operators().at(symbol);
  if (!entry.function) return notNode(callNode("==", nodes(std::move(left), std::move(right))));
  return callNode(entry.function, nodes(std::move(left), std::move(right)));
}

Node SqlParser::parseBinary(int minimumPrecedence) {
  const size_t first = tokens_.position();
  Node left = parseUnary();
  for (;;) {
    size_t tokenCount = 0;
    const auto next = peekOperator(&tokenCount);
    if (!next || next->second < minimumPrecedence) return left;
    for (; tokenCount > 0; --tokenCount) tokens_.take();
    Node right = parseBinary(next->second + 1);
    left = placed(applyOperator(next->first, std::move(left), std::move(right)), first);
  }
}

Node SqlParser::parseUnary() {
  const size_t first = tokens_.position();
  if (tokens_.peekSymbol("-") && tokens_.peek(1).kind == TokenKind::Number) {
    tokens_.take();
    return parsePostfix(parseNumber(/*negative=*/true), first);
  }
  const char* function = tokens_.peekSymbol("-")   ? "negative"
                         : tokens_.peekSymbol("+") ? "positive"
                         : tokens_.peekSymbol("~") ? "~"
                                                   : nullptr;
  if (!function) return parsePostfix(parsePrimary(), first);
  tokens_.take();
  Level level(*this, 1);
  return placed(callNode(function, nodes(parseUnary())), first);
}

Node SqlParser::parseExpressionOrDefault() {
  if (!tokens_.peekWord("default") ||
      !(tokens_.peekSymbol(",", 1) || tokens_.peekSymbol(")", 1) || tokens_.peekSymbol(";", 1) ||
        tokens_.peek(1).kind == TokenKind::End || tokens_.peekAnyWord({"where", "when"}, 1))) {
    return parseExpression();
  }
  tokens_.take();
  Node node{ExpressionPtr(new spark::connect::Expression()), 1};
  node.message->mutable_extension()->PackFrom(messages::SqlDefault());
  return node;
}

}  // namespace thalweg::sql
