// The recursive-descent parser behind parser.h. Its methods lie by theme: expressions.cc, primaries.cc, calls.cc,
// query.cc, from_clause.cc, and statement_parser.h for statements.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sql/node.h"
#include "sql/parser.h"
#include "sql/token_stream.h"

namespace spark::connect {
class Expression_Window;
}  // namespace spark::connect

namespace thalweg::sql {

// One use parses one text, on one thread.
class SqlParser {
 public:
  SqlParser(std::string_view text, const ParseOptions& options) : tokens_(text), options_(options) {}

  TokenStream& tokens() { return tokens_; }

  // [WITH …] set operations, ORDER BY, LIMIT: everything that may stand in parentheses as a query.
  Plan parseQuery();
  bool peekQuery(size_t ahead = 0) const;
  // A table, subquery, VALUES or table function with its alias; joins with parseRelation.
  Plan parseRelation();
  Plan parseRelationPrimary();

  Node parseExpression();
  // expression [[AS] name | AS (names)]
  Node parseNamedExpression();
  Node parseValueExpression();
  std::vector<SortItem> parseSortItems();
  // DEFAULT or an expression: INSERT's VALUES, SET.
  Node parseExpressionOrDefault();

  // A statement's subqueries gather here while set; without a place for them a subquery is refused.
  void setSubqueries(std::vector<RelationPtr>* references) { references_ = references; }
  // From here on a parameter is an Error UNSUPPORTED_FEATURE.PARAMETER_MARKER_IN_UNEXPECTED_STATEMENT: the text
  // of `where` ("the query of CREATE VIEW") is kept, and its arguments are not.
  void refuseParameters(std::string where) { parametersRefusedIn_ = std::move(where); }
  TimeTravel parseTimeTravel();
  bool peekTimeTravel() const;
  // A multi-part name or IDENTIFIER('…').
  Name parseName();
  // [AS] alias, "" where there is none.
  std::string parseOptionalTableAlias();

 private:
  // Holds one level of recursion; cost says how many levels of the bound it takes.
  class Level {
   public:
    Level(SqlParser& parser, int cost);
    ~Level() { parser_.depth_ -= cost_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    SqlParser& parser_;
    int cost_;
  };

  // The WINDOW clause of the innermost SELECT, read ahead when its first name is used.
  struct WindowDefinition {
    std::string name;
    Node window;
  };

  // expressions.cc
  Node parseOr();
  Node parseAnd();
  Node parseNot();
  Node parsePredicate();
  Node parsePredicateTail(Node left, size_t first);
  Node parseIn(Node left);
  Node parseLike(Node left, const std::string& function);
  Node parseQuantifiedLike(Node left, const std::string& function);
  Node parseIs(Node left);
  Node parseBinary(int minimumPrecedence);
  Node parseUnary();
  std::optional<std::pair<std::string, int>> peekOperator(size_t* tokenCount) const;
  Node applyOperator(const std::string& symbol, Node left, Node right);
  Node balanced(const std::string& function, Nodes& operands, size_t low, size_t high);
  // A copy, within a bound on all copies of one text (a CASE subject, a named window, a parameter).
  Node copied(const Node& node);
  // Notes the source range of the tokens since `first` in the expression's origin.
  Node placed(Node node, size_t first) const;

  // primaries.cc
  Node parsePostfix(Node primary, size_t first);
  Node parsePrimary();
  Node parseParenthesized();
  Node parseWordPrimary();
  Node parseNameOrCall();
  Node parseCase();
  Node parseCast(bool isTry);
  Node parseParameter();
  Node parseLambda(std::vector<std::string> parameters);
  Node parseStarTail(std::vector<std::string> target);
  bool peekLambdaList() const;
  Node subqueryNode(int type, Nodes inValues);
  bool atReservedWord() const;

  // calls.cc
  std::optional<Node> parseSpecialCall();
  Node parseExtract();
  Node parseTrim();
  Node parseSubstring();
  Node parseOverlay();
  Node parsePosition();
  Node parseCall(std::vector<std::string> name);
  Nodes parseArguments();
  Node parseArgument();
  Node parseCallTail(Node call);
  Node parseOver(Node call);
  const Node& namedWindow(const std::string& name);
  void readWindowDefinitions();
  std::vector<WindowDefinition> parseWindowClause();
  void parseWindowSpecification(spark::connect::Expression_Window* window, int* height);
  void parseFrame(spark::connect::Expression_Window* window, int* height);

  // literals.cc
  Node parseNumber(bool negative);
  std::optional<Node> parseTypedLiteral();
  Node parseInterval();

  // query.cc
  Plan parseQueryTerm(int minimumPrecedence);
  Plan parseQueryPrimary();
  Plan withReferences(Plan root, std::vector<RelationPtr> references, int height);
  Plan parseQueryOrganization(Plan input);
  Plan parseValues();
  void parseWith();
  bool atSetOperator() const;
  int64_t parseLimitCount(const char* clause);

  // select.cc
  Plan parseSelect();
  // /*+ NAME(parameters), … */, as they stand.
  struct Hint {
    std::string name;
    Nodes parameters;
  };
  void parseHints(std::vector<Hint>* hints);
  Plan parseSelectBody(std::vector<Hint>* hints);
  Nodes parseSelectList();

  // group_by.cc
  struct Grouping;  // grouping.h
  void parseGroupBy(Grouping* grouping);
  void parseSetsOfKeys(Grouping* grouping);
  Nodes parseKeyList();
  std::vector<std::vector<size_t>> parseKeyLists(Nodes* keys);
  void parseGroupingSets(Nodes* keys, std::vector<std::vector<size_t>>* sets);

  // from_clause.cc
  Plan parseFrom();
  Plan parseJoins(Plan left);
  bool parseJoinType(int* type);
  Plan parseJoin(Plan left, int type, bool natural);
  Plan parseLateralView(Plan input);
  Plan parseTableFunction(std::vector<std::string> name);
  Plan parseNamedTable();
  Plan parseTableAlias(Plan input);
  std::string parseVersionNumber();
  bool atTableAlias() const;
  void refuseUnbuilt() const;

  TokenStream tokens_;
  const ParseOptions& options_;
  int depth_ = 0;
  std::vector<RelationPtr>* references_ = nullptr;
  int referencesHeight_ = 0;
  int64_t nextPlanId_ = kFirstPlanId;
  size_t nextPosition_ = 0;
  std::string parametersRefusedIn_;
  std::vector<std::vector<std::string>> lambdaParameters_;
  size_t selectStart_ = 0;
  std::optional<std::vector<WindowDefinition>> windowDefinitions_;
  size_t copiedBytes_ = 0;
};

}  // namespace thalweg::sql
