// The front door of sql/: Spark SQL text in, Spark Connect messages and statements out.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sql/message_ptr.h"
#include "sql/statements.h"
#include "types/time_zone.h"

namespace thalweg::sql {

// What the session gives to a parse. The expressions are the caller's and are copied where they are used.
struct ParseOptions {
  TimeZone timeZone;  // of TIMESTAMP '…' literals without a zone; spark.sql.session.timeZone
  bool timestampNtz = false;  // TIMESTAMP '…' without a zone is TIMESTAMP_NTZ; spark.sql.timestampType
  std::map<std::string, const spark::connect::Expression*> namedArguments = {};  // :name
  std::vector<const spark::connect::Expression*> positionalArguments = {};       // ?
};

// All of these throw Error: PARSE_SYNTAX_ERROR (with the query context's byte offsets), PARSE_EMPTY_STATEMENT, the INVALID_…
// of literals, UNBOUND_SQL_PARAMETER, UNSUPPORTED_FEATURE.THALWEG for syntax that nothing carries yet. Nesting is bounded
// (kMaxDepth levels: TOO_DEEPLY_NESTED), so that messages can be walked recursively. Functions keep no state: any thread.
inline constexpr int kMaxDepth = 1000;

// One statement, a trailing ';' allowed.
Statement parseStatement(std::string_view text, const ParseOptions& options = {});

// A query alone (SELECT, VALUES, WITH, FROM-less unions …), written over *relation.
//  - A subquery in an expression is a subquery_expression whose plan_id is that of a relation in the `references` of the
//    with_relations around the (sub)query that holds it. Plan ids start at kFirstPlanId and are unique in one text.
//  - WITH name AS (…) is a reference that is a subquery_alias: read.named_table of that name, in the root and in later
//    references, means it. Innermost with_relations first.
//  - GROUP BY, HAVING, VALUES and what else Spark's messages lack are `extension` messages (src/messages/thalweg.proto; read
//    them with unpackExtension). A project may have aggregate functions in its list: then it is a global aggregate.
//  - Time travel is an option of read.named_table: versionAsOf, timestampAsOf (a literal's text), or timestampAsOfExpression
//    (SQL text, to be parsed by parseExpression).
void parseQuery(std::string_view text, spark::connect::Relation* relation, const ParseOptions& options = {});
inline constexpr long long kFirstPlanId = 1LL << 40;

// One expression, `AS name` allowed (functions.expr, selectExpr). Operators are unresolved functions with the names that
// PySpark's Column methods send ("==", "and", "isNull", …); subqueries are refused.
void parseExpression(std::string_view text, spark::connect::Expression* expression, const ParseOptions& options = {});

// "a.`b.c`.d" → a, b.c, d: of an unresolved_attribute, a table, a function.
std::vector<std::string> parseMultipartIdentifier(std::string_view text);
// The same with the rules of table names: at most catalog, schema, table.
std::vector<std::string> parseTableName(std::string_view text);
// The inverse: parts joined by dots, in back-ticks where needed.
std::string unparsedIdentifier(const std::vector<std::string>& parts);

}  // namespace thalweg::sql
