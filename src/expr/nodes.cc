#include "expr/nodes.h"

#include <atomic>

#include <arrow/api.h>
#include <arrow/util/bitmap_ops.h>

#include "common/error.h"
#include "types/arrow_result.h"
#include "expr/literal_text.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

[[noreturn]] void notEvaluable(const Expression& expression) {
  throw internalError("'" + expression.toString() + "' was evaluated before it was bound to columns.");
}

bool anyNullable(const std::vector<ExpressionPtr>& children, size_t first, size_t step) {
  for (size_t i = first; i < children.size(); i += step) {
    if (children[i]->nullable()) return true;
  }
  return false;
}

}  // namespace

// ---- Literal

Literal::Literal(std::shared_ptr<arrow::Scalar> value, DataTypePtr type)
    : Expression(ExpressionKind::Literal, std::move(type), !value->is_valid, {}), value_(std::move(value)) {}

ExpressionPtr Literal::null(DataTypePtr type) {
  auto scalar = arrow::MakeNullScalar(toArrowType(*type));
  return std::make_shared<Literal>(std::move(scalar), std::move(type));
}

ExpressionPtr Literal::of(bool value) {
  return std::make_shared<Literal>(std::make_shared<arrow::BooleanScalar>(value), booleanType());
}

ExpressionPtr Literal::of(int32_t value) {
  return std::make_shared<Literal>(std::make_shared<arrow::Int32Scalar>(value), intType());
}

ExpressionPtr Literal::of(int64_t value) {
  return std::make_shared<Literal>(std::make_shared<arrow::Int64Scalar>(value), longType());
}

ExpressionPtr Literal::of(double value) {
  return std::make_shared<Literal>(std::make_shared<arrow::DoubleScalar>(value), doubleType());
}

ExpressionPtr Literal::of(std::string value) {
  return std::make_shared<Literal>(std::make_shared<arrow::StringScalar>(std::move(value)), stringType());
}

bool Literal::isNull() const { return !value_->is_valid; }

arrow::Datum Literal::evaluate(const arrow::RecordBatch&, const Selection&, const EvaluationContext&) const { return value_; }

ExpressionPtr Literal::withChildren(std::vector<ExpressionPtr>) const { return std::make_shared<Literal>(value_, type()); }

std::string Literal::toString() const { return literalText(*value_, *type()); }

// ---- Attribute

ExpressionId nextExpressionId() {
  static std::atomic<ExpressionId> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

Attribute::Attribute(std::string name, DataTypePtr type, bool nullable, ExpressionId id, std::vector<std::string> qualifier,
                     std::string metadata, bool hidden)
    : Expression(ExpressionKind::Attribute, std::move(type), nullable, {}),
      name_(std::move(name)),
      id_(id),
      qualifier_(std::move(qualifier)),
      metadata_(std::move(metadata)),
      hidden_(hidden) {}

AttributePtr Attribute::withQualifier(std::vector<std::string> qualifier) const {
  return std::make_shared<Attribute>(name_, type(), nullable(), id_, std::move(qualifier), metadata_, hidden_);
}

AttributePtr Attribute::withNullable(bool nullable) const {
  return std::make_shared<Attribute>(name_, type(), nullable, id_, qualifier_, metadata_, hidden_);
}

AttributePtr Attribute::withMetadata(std::string metadata) const {
  return std::make_shared<Attribute>(name_, type(), nullable(), id_, qualifier_, std::move(metadata), hidden_);
}

AttributePtr Attribute::withHidden() const {
  return std::make_shared<Attribute>(name_, type(), nullable(), id_, qualifier_, metadata_, /*hidden=*/true);
}

AttributePtr Attribute::withNewId() const {
  return std::make_shared<Attribute>(name_, type(), nullable(), nextExpressionId(), qualifier_, metadata_, hidden_);
}

arrow::Datum Attribute::evaluate(const arrow::RecordBatch&, const Selection&, const EvaluationContext&) const {
  notEvaluable(*this);
}

ExpressionPtr Attribute::withChildren(std::vector<ExpressionPtr>) const {
  return std::make_shared<Attribute>(name_, type(), nullable(), id_, qualifier_, metadata_, hidden_);
}

// ---- BoundReference

BoundReference::BoundReference(int ordinal, DataTypePtr type, bool nullable, std::string name)
    : Expression(ExpressionKind::Bound, std::move(type), nullable, {}), ordinal_(ordinal), name_(std::move(name)) {}

arrow::Datum BoundReference::evaluate(const arrow::RecordBatch& batch, const Selection&, const EvaluationContext&) const {
  return batch.column(ordinal_);
}

ExpressionPtr BoundReference::withChildren(std::vector<ExpressionPtr>) const {
  return std::make_shared<BoundReference>(ordinal_, type(), nullable(), name_);
}

// ---- Alias

Alias::Alias(ExpressionPtr child, std::string name, ExpressionId id, std::optional<std::string> metadata)
    : Expression(ExpressionKind::Alias, child->type(), child->nullable(), {child}),
      name_(std::move(name)),
      id_(id),
      metadata_(std::move(metadata)) {}

AttributePtr Alias::toAttribute() const {
  std::string metadata;
  if (metadata_) {
    metadata = *metadata_;
  } else if (child()->kind() == ExpressionKind::Attribute) {
    metadata = static_cast<const Attribute&>(*child()).metadata();
  } else if (child()->kind() == ExpressionKind::Field) {
    const auto& field = static_cast<const FieldAccess&>(*child());
    metadata = field.children()[0]->type()->fields()[field.ordinal()].metadata;
  }
  return std::make_shared<Attribute>(name_, type(), nullable(), id_, std::vector<std::string>{}, std::move(metadata));
}

arrow::Datum Alias::evaluate(const arrow::RecordBatch& batch, const Selection& selection, const EvaluationContext& context) const {
  return child()->evaluate(batch, selection, context);
}

ExpressionPtr Alias::withChildren(std::vector<ExpressionPtr> children) const {
  return std::make_shared<Alias>(std::move(children[0]), name_, id_, metadata_);
}

// ---- FieldAccess

FieldAccess::FieldAccess(ExpressionPtr child, int ordinal)
    : Expression(ExpressionKind::Field, child->type()->fields()[ordinal].type,
                 child->nullable() || child->type()->fields()[ordinal].nullable, {child}),
      ordinal_(ordinal) {}

arrow::Datum FieldAccess::evaluate(const arrow::RecordBatch& batch, const Selection& selection,
                                   const EvaluationContext& context) const {
  const arrow::Datum parent = children()[0]->evaluate(batch, selection, context);
  if (parent.is_scalar()) {
    const auto& scalar = static_cast<const arrow::StructScalar&>(*parent.scalar());
    if (!scalar.is_valid) return arrow::MakeNullScalar(toArrowType(*type()));
    return scalar.value[ordinal_];
  }
  const auto array = std::static_pointer_cast<arrow::StructArray>(parent.make_array());
  // A struct without nulls hands out its child as it is; else the parent's nulls go into the child's.
  if (array->null_count() == 0) return array->field(ordinal_);
  return valueOrThrow(array->GetFlattenedField(ordinal_, context.memoryPool()));
}

ExpressionPtr FieldAccess::withChildren(std::vector<ExpressionPtr> children) const {
  return std::make_shared<FieldAccess>(std::move(children[0]), ordinal_);
}

// ---- CaseWhen

CaseWhen::CaseWhen(std::vector<ExpressionPtr> children)
    : Expression(ExpressionKind::CaseWhen, children[1]->type(),
                 children.size() % 2 == 0 || anyNullable(children, 1, 2) || children.back()->nullable(), children) {}

arrow::Datum CaseWhen::evaluate(const arrow::RecordBatch& batch, const Selection& selection,
                                const EvaluationContext& context) const {
  std::vector<int8_t> choice(static_cast<size_t>(batch.num_rows()), -1);
  std::vector<std::shared_ptr<arrow::Array>> values;
  Selection open = selection;
  auto choose = [&](const ExpressionPtr& value, const Selection& rows) {
    if (rows.isEmpty()) return;
    const auto index = static_cast<int8_t>(values.size());
    values.push_back(evaluateToArray(*value, batch, rows, context));
    rows.forEach([&](int64_t row) { choice[row] = index; });
  };
  for (size_t i = 0; i + 1 < children().size(); i += 2) {
    const Selection chosen = selectTrue(*children()[i], batch, open, context);
    choose(children()[i + 1], chosen);
    if (chosen.count() == open.count()) return interleaveRows(*type(), values, choice, context.memoryPool());
    std::vector<bool> taken(static_cast<size_t>(batch.num_rows()), false);
    chosen.forEach([&](int64_t row) { taken[row] = true; });
    std::vector<int32_t> rest;
    open.forEach([&](int64_t row) {
      if (!taken[row]) rest.push_back(static_cast<int32_t>(row));
    });
    open = Selection::of(batch.num_rows(), std::move(rest));
  }
  if (hasElse()) choose(children().back(), open);
  return interleaveRows(*type(), values, choice, context.memoryPool());
}

ExpressionPtr CaseWhen::withChildren(std::vector<ExpressionPtr> children) const {
  return std::make_shared<CaseWhen>(std::move(children));
}

std::string CaseWhen::toString() const {
  std::string text = "CASE";
  for (size_t i = 0; i + 1 < children().size(); i += 2) {
    text += " WHEN " + children()[i]->toString() + " THEN " + children()[i + 1]->toString();
  }
  return text + (hasElse() ? " ELSE " + children().back()->toString() : "") + " END";
}

std::shared_ptr<arrow::Array> interleaveRows(const DataType& type, const std::vector<std::shared_ptr<arrow::Array>>& arrays,
                                             const std::vector<int8_t>& choice, arrow::MemoryPool* pool) {
  std::unique_ptr<arrow::ArrayBuilder> builder;
  throwIfFailed(arrow::MakeBuilder(pool, toArrowType(type), &builder));
  const auto numRows = static_cast<int64_t>(choice.size());
  throwIfFailed(builder->Reserve(numRows));
  std::vector<arrow::ArraySpan> spans;
  for (const auto& array : arrays) spans.emplace_back(*array->data());
  for (int64_t row = 0; row < numRows;) {
    int64_t end = row + 1;
    while (end < numRows && choice[end] == choice[row]) ++end;
    if (choice[row] < 0) {
      throwIfFailed(builder->AppendNulls(end - row));
    } else {
      throwIfFailed(builder->AppendArraySlice(spans[choice[row]], row, end - row));
    }
    row = end;
  }
  return valueOrThrow(builder->Finish());
}

// ---- Conjunction

Conjunction::Conjunction(ExpressionKind andOr, ExpressionPtr left, ExpressionPtr right)
    : Expression(andOr, booleanType(), left->nullable() || right->nullable(), {left, right}) {}

namespace {

// The selected rows that need the right side: FALSE decides an AND, TRUE an OR.
Selection undecided(const arrow::BooleanArray& left, bool isAnd, const Selection& selection) {
  const int64_t numRows = left.length();
  if (selection.isAll() && left.null_count() == 0 && left.true_count() == (isAnd ? numRows : 0)) return selection;
  std::vector<int32_t> open;
  selection.forEach([&](int64_t row) {
    if (left.IsNull(row) || left.Value(row) == isAnd) open.push_back(static_cast<int32_t>(row));
  });
  return Selection::of(numRows, std::move(open));
}

// Of sides without nulls. Where the right was not asked, the left decides, whatever the right has there.
std::shared_ptr<arrow::Array> combine(const arrow::BooleanArray& left, const arrow::BooleanArray& right, bool isAnd,
                                      arrow::MemoryPool* pool) {
  const auto bitsOf = [](const arrow::BooleanArray& array) { return array.values()->data(); };
  auto bits = valueOrThrow(
      isAnd ? arrow::internal::BitmapAnd(pool, bitsOf(left), left.offset(), bitsOf(right), right.offset(), left.length(), 0)
            : arrow::internal::BitmapOr(pool, bitsOf(left), left.offset(), bitsOf(right), right.offset(), left.length(), 0));
  return std::make_shared<arrow::BooleanArray>(left.length(), std::move(bits));
}

}  // namespace

arrow::Datum Conjunction::evaluate(const arrow::RecordBatch& batch, const Selection& selection,
                                   const EvaluationContext& context) const {
  const bool isAnd = kind() == ExpressionKind::And;
  const auto left = std::static_pointer_cast<arrow::BooleanArray>(evaluateToArray(*children()[0], batch, selection, context));
  const Selection open = undecided(*left, isAnd, selection);
  if (open.isEmpty()) return left;
  const auto right =
      std::static_pointer_cast<arrow::BooleanArray>(evaluateToArray(*children()[1], batch, open, context));
  if (left->null_count() == 0 && right->null_count() == 0) return combine(*left, *right, isAnd, context.memoryPool());
  arrow::BooleanBuilder builder(context.memoryPool());
  throwIfFailed(builder.Reserve(batch.num_rows()));
  for (int64_t row = 0; row < batch.num_rows(); ++row) {
    const bool leftValid = left->IsValid(row);
    if (leftValid && left->Value(row) != isAnd) {
      builder.UnsafeAppend(!isAnd);
    } else if (right->IsValid(row) && right->Value(row) != isAnd) {
      builder.UnsafeAppend(!isAnd);
    } else if (leftValid && right->IsValid(row)) {
      builder.UnsafeAppend(isAnd);
    } else {
      builder.UnsafeAppendNull();
    }
  }
  return valueOrThrow(builder.Finish());
}

ExpressionPtr Conjunction::withChildren(std::vector<ExpressionPtr> children) const {
  return std::make_shared<Conjunction>(kind(), std::move(children[0]), std::move(children[1]));
}

std::string Conjunction::toString() const {
  return "(" + children()[0]->toString() + (kind() == ExpressionKind::And ? " AND " : " OR ") + children()[1]->toString() + ")";
}

std::vector<ExpressionPtr> splitConjuncts(const ExpressionPtr& predicate) {
  if (predicate->kind() != ExpressionKind::And) return {predicate};
  std::vector<ExpressionPtr> parts = splitConjuncts(predicate->children()[0]);
  for (ExpressionPtr& part : splitConjuncts(predicate->children()[1])) parts.push_back(std::move(part));
  return parts;
}

// ---- SortOrder

SortOrder::SortOrder(ExpressionPtr child, bool ascending, bool nullsFirst)
    : Expression(ExpressionKind::SortOrder, child->type(), child->nullable(), {child}),
      ascending_(ascending),
      nullsFirst_(nullsFirst) {}

arrow::Datum SortOrder::evaluate(const arrow::RecordBatch& batch, const Selection& selection,
                                 const EvaluationContext& context) const {
  return children()[0]->evaluate(batch, selection, context);
}

ExpressionPtr SortOrder::withChildren(std::vector<ExpressionPtr> children) const {
  return std::make_shared<SortOrder>(std::move(children[0]), ascending_, nullsFirst_);
}

std::string SortOrder::toString() const {
  return children()[0]->toString() + (ascending_ ? " ASC" : " DESC") + (nullsFirst_ ? " NULLS FIRST" : " NULLS LAST");
}

}  // namespace thalweg
