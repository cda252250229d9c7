// What a table asks of its rows beyond their types, and what it puts into columns that come without values.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/type_fwd.h>

#include "delta/actions/actions.h"
#include "delta/files/expression_evaluator.h"
#include "types/char_varchar.h"
#include "types/data_type.h"

namespace thalweg::delta {

// Keys of a column's metadata.
inline constexpr std::string_view kGenerationExpression = "delta.generationExpression";
inline constexpr std::string_view kCurrentDefault = "CURRENT_DEFAULT";
inline constexpr std::string_view kIdentityStart = "delta.identity.start";
inline constexpr std::string_view kIdentityStep = "delta.identity.step";
inline constexpr std::string_view kIdentityHighWaterMark = "delta.identity.highWaterMark";
inline constexpr std::string_view kIdentityAllowExplicitInsert = "delta.identity.allowExplicitInsert";
// In front of a CHECK constraint's name (lower case) in a table's configuration.
inline constexpr std::string_view kConstraintPrefix = "delta.constraints.";

// Whether a table fills the column in where rows come without it: from a default, an expression, or a
// sequence.
bool isFilledIn(const StructField& column);
bool isGenerated(const StructField& column);
bool isIdentity(const StructField& column);

// The high-water mark of an identity column when `value` is in its table: the next value that START and
// INCREMENT give, no less far than before. nullopt: it stays as it is, as for a value before START. Throws
// Error ARITHMETIC_OVERFLOW where that is no BIGINT.
std::optional<int64_t> identityMarkAfter(const StructField& column, int64_t value);

// CHECK constraints, invariants, NOT NULL, lengths of CHAR and VARCHAR, generated columns, defaults and
// identity columns of one write. Any thread.
class RowRules {
 public:
  // Of rows of `schema`, the table's, that come with the columns for which `given` is true; others hold nulls
  // and are filled in. `evaluator` may be null: throws Error DELTA_UNSUPPORTED_FEATURES_FOR_WRITE, naming
  // what there is, where one is needed. Throws the evaluator's errors for a rule that it cannot read.
  RowRules(const Metadata& metadata, SchemaPtr schema, const std::vector<bool>& given,
           const ExpressionEvaluator* evaluator);
  ~RowRules();

  // One more condition that rows must satisfy: what replaceWhere asks. Throws Error
  // DELTA_REPLACE_WHERE_MISMATCH.
  void requireReplaceWhere(const std::string& sql, const ExpressionEvaluator& evaluator);

  // The rows with what the table fills in. Throws Error DELTA_VIOLATE_CONSTRAINT_WITH_VALUES,
  // DELTA_NOT_NULL_CONSTRAINT_VIOLATED, DELTA_EXCEED_CHAR_VARCHAR_LIMIT, and those of the expressions. As
  // Spark writes them, CHAR is not padded and VARCHAR not trimmed: trailing spaces count.
  std::shared_ptr<arrow::RecordBatch> apply(std::shared_ptr<arrow::RecordBatch> rows) const;

  // The schema with identity columns' new high-water marks, where apply() gave any out.
  std::optional<std::string> schemaAfter(const Metadata& metadata) const;

 private:
  struct Filled {
    int column;
    std::shared_ptr<const RowExpression> value;
  };
  struct Check {
    std::string name;  // as the error names it, its expression behind
    std::string sql;
    std::shared_ptr<const RowExpression> condition;
    bool isReplaceWhere = false;
  };
  struct Identity;
  struct Lengths {
    int column;
    StringBounds bounds;
  };

  void addLengths(int column);
  void addGenerated(int column, const std::string& sql, bool given, const ExpressionEvaluator& evaluator);
  void addCheck(std::string name, const std::string& sql, const ExpressionEvaluator& evaluator);
  void check(const Check& rule, const arrow::RecordBatch& rows) const;

  SchemaPtr schema_;
  bool hasNotNull_;
  std::vector<Filled> defaults_;
  std::vector<std::unique_ptr<Identity>> identities_;
  std::vector<Filled> generated_;
  std::vector<Lengths> lengths_;
  std::vector<Check> checks_;
};

}  // namespace thalweg::delta
