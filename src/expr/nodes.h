// The kinds of expressions that every plan uses; functions and casts have files of their own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "expr/expression.h"

namespace thalweg {

// A constant. The scalar has the Arrow type of `type`.
class Literal final : public Expression {
 public:
  Literal(std::shared_ptr<arrow::Scalar> value, DataTypePtr type);
  static ExpressionPtr null(DataTypePtr type);
  static ExpressionPtr of(bool value);
  static ExpressionPtr of(int32_t value);
  static ExpressionPtr of(int64_t value);
  static ExpressionPtr of(double value);
  static ExpressionPtr of(std::string value);

  const std::shared_ptr<arrow::Scalar>& value() const { return value_; }
  bool isNull() const;
  arrow::Datum evaluate(const arrow::RecordBatch&, const Selection&, const EvaluationContext&) const override;
  ExpressionPtr withChildren(std::vector<ExpressionPtr> children) const override;
  Foldability foldability() const override { return Foldability::Always; }
  std::string toString() const override;

 private:
  std::shared_ptr<arrow::Scalar> value_;
};

// Identifies a column through a plan, unique in the process.
using ExpressionId = int64_t;
ExpressionId nextExpressionId();

// A column of a node's output. Equal by id. `qualifier` is the alias or table it may be named with. A hidden column (such
// as a file source's _metadata) can be named but is no part of a star or of a DataFrame's schema.
class Attribute final : public Expression {
 public:
  Attribute(std::string name, DataTypePtr type, bool nullable, ExpressionId id, std::vector<std::string> qualifier = {},
            std::string metadata = {}, bool hidden = false);
  const std::string& name() const { return name_; }
  bool hidden() const { return hidden_; }
  ExpressionId id() const { return id_; }
  const std::vector<std::string>& qualifier() const { return qualifier_; }
  const std::string& metadata() const { return metadata_; }
  std::shared_ptr<const Attribute> withQualifier(std::vector<std::string> qualifier) const;
  std::shared_ptr<const Attribute> withNullable(bool nullable) const;
  std::shared_ptr<const Attribute> withMetadata(std::string metadata) const;
  std::shared_ptr<const Attribute> withNewId() const;
  std::shared_ptr<const Attribute> withHidden() const;

  arrow::Datum evaluate(const arrow::RecordBatch&, const Selection&, const EvaluationContext&) const override;
  ExpressionPtr withChildren(std::vector<ExpressionPtr> children) const override;
  Foldability foldability() const override { return Foldability::Never; }
  std::string toString() const override { return name_; }

 private:
  std::string name_;
  ExpressionId id_;
  std::vector<std::string> qualifier_;
  std::string metadata_;
  bool hidden_;
};
using AttributePtr = std::shared_ptr<const Attribute>;

// A column of the batch by position.
class BoundReference final : public Expression {
 public:
  BoundReference(int ordinal, DataTypePtr type, bool nullable, std::string name);
  int ordinal() const { return ordinal_; }
  arrow::Datum evaluate(const arrow::RecordBatch& batch, const Selection&, const EvaluationContext&) const override;
  ExpressionPtr withChildren(std::vector<ExpressionPtr> children) const override;
  Foldability foldability() const override { return Foldability::Never; }
  std::string toString() const override { return name_; }

 private:
  int ordinal_;
  std::string name_;
};

// Gives an expression a name and an id. `metadata`: JSON text; absent: the child's, where it has one.
class Alias final : public Expression {
 public:
  Alias(ExpressionPtr child, std::string name, ExpressionId id = nextExpressionId(),
        std::optional<std::string> metadata = std::nullopt);
  const ExpressionPtr& child() const { return children()[0]; }
  const std::string& name() const { return name_; }
  ExpressionId id() const { return id_; }
  AttributePtr toAttribute() const;
  arrow::Datum evaluate(const arrow::RecordBatch&, const Selection&, const EvaluationContext&) const override;
  ExpressionPtr withChildren(std::vector<ExpressionPtr> children) const override;
  std::string toString() const override { return child()->toString() + " AS " + name_; }

 private:
  std::string name_;
  ExpressionId id_;
  std::optional<std::string> metadata_;
};

// A field of a struct value; null where the struct is.
class FieldAccess final : public Expression {
 public:
  FieldAccess(ExpressionPtr child, int ordinal);
  int ordinal() const { return ordinal_; }
  const std::string& fieldName() const { return children()[0]->type()->fields()[ordinal_].name; }
  arrow::Datum evaluate(const arrow::RecordBatch&, const Selection&, const EvaluationContext&) const override;
  ExpressionPtr withChildren(std::vector<ExpressionPtr> children) const override;
  std::string toString() const override { return children()[0]->toString() + "." + fieldName(); }

 private:
  int ordinal_;
};

// CASE WHEN c1 THEN v1 … ELSE v END. Children: c1, v1, c2, v2, …[, else]; values have one type. A value is evaluated only
// for the rows that its condition selects.
class CaseWhen final : public Expression {
 public:
  explicit CaseWhen(std::vector<ExpressionPtr> children);
  bool hasElse() const { return children().size() % 2 == 1; }
  arrow::Datum evaluate(const arrow::RecordBatch&, const Selection&, const EvaluationContext&) const override;
  ExpressionPtr withChildren(std::vector<ExpressionPtr> children) const override;
  std::string toString() const override;
};

// AND and OR with SQL's three values; the right side is evaluated only for rows that the left leaves open.
class Conjunction final : public Expression {
 public:
  Conjunction(ExpressionKind andOr, ExpressionPtr left, ExpressionPtr right);
  arrow::Datum evaluate(const arrow::RecordBatch&, const Selection&, const EvaluationContext&) const override;
  ExpressionPtr withChildren(std::vector<ExpressionPtr> children) const override;
  std::string toString() const override;
};

// One entry of a sort's list. Evaluates to its child.
class SortOrder final : public Expression {
 public:
  SortOrder(ExpressionPtr child, bool ascending, bool nullsFirst);
  bool ascending() const { return ascending_; }
  bool nullsFirst() const { return nullsFirst_; }
  arrow::Datum evaluate(const arrow::RecordBatch&, const Selection&, const EvaluationContext&) const override;
  ExpressionPtr withChildren(std::vector<ExpressionPtr> children) const override;
  std::string toString() const override;

 private:
  bool ascending_;
  bool nullsFirst_;
};

// The parts of an AND chain.
std::vector<ExpressionPtr> splitConjuncts(const ExpressionPtr& predicate);

// Rows of several arrays put together: row r of the result is row r of arrays[choice[r]], null where choice[r] is −1.
std::shared_ptr<arrow::Array> interleaveRows(const DataType& type, const std::vector<std::shared_ptr<arrow::Array>>& arrays,
                                             const std::vector<int8_t>& choice, arrow::MemoryPool* pool);

}  // namespace thalweg
