#include "expr/cast/cast.h"

#include <arrow/api.h>

#include "common/error.h"
#include "expr/cast/kernels.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

bool isTimeLike(TypeId id) { return id == TypeId::Date || id == TypeId::Timestamp || id == TypeId::TimestampNtz; }

bool canCastStruct(const DataType& from, const DataType& to, CastMode mode) {
  if (from.fields().size() != to.fields().size()) return false;
  for (size_t i = 0; i < from.fields().size(); ++i) {
    if (!canCast(*from.fields()[i].type, *to.fields()[i].type, mode)) return false;
  }
  return true;
}

bool canCastToNumeric(const DataType& from, const DataType& to, CastMode mode) {
  switch (from.id()) {
    case TypeId::Boolean:
    case TypeId::String: return true;
    case TypeId::Timestamp: return mode != CastMode::Ansi || to.id() != TypeId::Byte || true;
    case TypeId::Date: return mode == CastMode::Legacy;
    case TypeId::DayTimeInterval:
    case TypeId::YearMonthInterval: return to.isIntegral() || to.id() == TypeId::Decimal;
    default: return from.isNumeric();
  }
}

// Null in, null out; a string to anything else, a number to a narrower one, may give null outside ANSI.
bool mayGiveNull(const DataType& from, const DataType& to, CastMode mode) {
  if (mode == CastMode::Ansi || equals(from, to)) return false;
  if (from.id() == TypeId::String) return to.id() != TypeId::String && to.id() != TypeId::Binary;
  if (to.id() == TypeId::Decimal) return true;
  return mode == CastMode::Try && from.isNumeric() && to.isNumeric();
}

}  // namespace

bool canCast(const DataType& from, const DataType& to, CastMode mode) {
  if (equals(from, to) || from.id() == TypeId::Void) return true;
  switch (to.id()) {
    case TypeId::String: return from.id() != TypeId::Variant;
    case TypeId::Binary: return from.id() == TypeId::String || (from.isIntegral() && mode == CastMode::Legacy);
    case TypeId::Boolean: return from.isNumeric() || from.id() == TypeId::String || (from.id() == TypeId::Timestamp && mode == CastMode::Legacy);
    case TypeId::Date: return isTimeLike(from.id()) || from.id() == TypeId::String;
    case TypeId::Timestamp:
    case TypeId::TimestampNtz:
      return isTimeLike(from.id()) || from.id() == TypeId::String ||
             (to.id() == TypeId::Timestamp && (from.isNumeric() || (from.id() == TypeId::Boolean && mode == CastMode::Legacy)));
    case TypeId::Array: return from.id() == TypeId::Array && canCast(*from.element(), *to.element(), mode);
    case TypeId::Map:
      return from.id() == TypeId::Map && canCast(*from.key(), *to.key(), mode) && canCast(*from.value(), *to.value(), mode);
    case TypeId::Struct: return from.id() == TypeId::Struct && canCastStruct(from, to, mode);
    case TypeId::DayTimeInterval:
    case TypeId::YearMonthInterval: return from.id() == TypeId::String || from.isIntegral() || from.id() == to.id();
    default: return to.isNumeric() && canCastToNumeric(from, to, mode);
  }
}

Cast::Cast(ExpressionPtr child, DataTypePtr to, CastMode mode, bool userSpecified)
    : Expression(ExpressionKind::Cast, to, child->nullable() || mayGiveNull(*child->type(), *to, mode), {child}),
      mode_(mode),
      userSpecified_(userSpecified) {}

arrow::Datum Cast::evaluate(const arrow::RecordBatch& batch, const Selection& selection, const EvaluationContext& context) const {
  const ExpressionPtr& child = children()[0];
  const arrow::Datum input = child->evaluate(batch, selection, context);
  if (input.is_scalar()) {
    if (selection.isEmpty() || !input.scalar()->is_valid) return arrow::MakeNullScalar(toArrowType(*type()));
    const auto one = valueOrThrow(arrow::MakeArrayFromScalar(*input.scalar(), 1, context.memoryPool()));
    const auto result = castKernel(one, *child->type(), *type(), CastKernelContext{mode_, Selection::all(1), context});
    return valueOrThrow(result->GetScalar(0));
  }
  return castKernel(input.make_array(), *child->type(), *type(), CastKernelContext{mode_, selection, context});
}

ExpressionPtr Cast::withChildren(std::vector<ExpressionPtr> children) const {
  return std::make_shared<Cast>(std::move(children[0]), type(), mode_, userSpecified_);
}

Foldability Cast::foldability() const { return children()[0]->foldability(); }

std::string Cast::toString() const {
  if (!userSpecified_) return children()[0]->toString();
  return (mode_ == CastMode::Try ? "TRY_CAST(" : "CAST(") + children()[0]->toString() + " AS " + type()->sqlString() + ")";
}

ExpressionPtr castTo(const ExpressionPtr& child, const DataTypePtr& to, CastMode mode, bool userSpecified) {
  if (equals(*child->type(), *to) && !userSpecified) return child;
  if (!canCast(*child->type(), *to, mode)) {
    throw Error("DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION",
                "'" + child->toString() + "' of type " + child->type()->sqlString() + " cannot be cast to " + to->sqlString() + ".",
                {{"sqlExpr", "\"CAST(" + child->toString() + " AS " + to->sqlString() + ")\""},
                 {"srcType", "\"" + child->type()->sqlString() + "\""},
                 {"targetType", "\"" + to->sqlString() + "\""}});
  }
  return std::make_shared<Cast>(child, to, mode, userSpecified);
}

std::shared_ptr<arrow::Array> castArray(const std::shared_ptr<arrow::Array>& array, const DataType& from, const DataType& to,
                                        CastMode mode, const EvaluationContext& context) {
  return castKernel(array, from, to, CastKernelContext{mode, Selection::all(array->length()), context});
}

}  // namespace thalweg
