#include "exec/planner/stream_join.h"

#include <arrow/scalar.h>

#include "common/error.h"
#include "exec/planner/binder.h"
#include "expr/time_window.h"
#include "functions/registry.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"
#include "types/column_metadata.h"

namespace thalweg {
namespace {

// A value that stands for null in a key, beside a flag that says so.
ExpressionPtr placeholder(const DataTypePtr& type) {
  const auto arrowType = toArrowType(*type);
  switch (type->id()) {
    case TypeId::String:
      return Literal::of(std::string());
    case TypeId::Boolean:
      return Literal::of(false);
    case TypeId::Decimal:
      return std::make_shared<Literal>(std::make_shared<arrow::Decimal128Scalar>(0, arrowType), type);
    case TypeId::Byte:
    case TypeId::Short:
    case TypeId::Int:
    case TypeId::Long:
    case TypeId::Float:
    case TypeId::Double:
    case TypeId::Date:
    case TypeId::Timestamp:
    case TypeId::TimestampNtz:
    case TypeId::DayTimeInterval:
      return std::make_shared<Literal>(valueOrThrow(arrow::MakeScalar(arrowType, 0)), type);
    default:
      throw unsupported("A join of two streams with <=> of columns of the type " + type->simpleString());
  }
}

// Spark's form of a null-safe equality, of which its state's keys are made.
void addNullSafeKeys(const JoinKey& key, std::vector<JoinKey>* keys) {
  const FunctionContext context;
  const auto value = [&](const ExpressionPtr& e) {
    return resolveFunction({"coalesce", {e, placeholder(e->type())}}, context);
  };
  const auto isNull = [&](const ExpressionPtr& e) { return resolveFunction({"isnull", {e}}, context); };
  keys->push_back({value(key.left), value(key.right), false});
  keys->push_back({isNull(key.left), isNull(key.right), false});
}

// The column by which rows are late, among a side's.
std::optional<EventTimeKey> eventTimeOf(const LogicalNode& side) {
  std::optional<EventTimeKey> found;
  for (size_t i = 0; i < side.output().size(); ++i) {
    const Attribute& column = *side.output()[i];
    if (!hasMetadataKey(column.metadata(), kWatermarkDelayKey)) continue;
    if (found && side.output()[found->column]->id() != column.id()) {
      const std::string& first = side.output()[found->column]->name();
      throw Error("_LEGACY_ERROR_TEMP_3077",
                  "A side of a join of streams has two event times, '" + first + "' and '" + column.name() +
                      "'. Drop one of them before the join.",
                  {{"eventTimeCols", "(" + first + "," + column.name() + ")"}});
    }
    if (!found) found = EventTimeKey{i, isWindowType(*column.type())};
  }
  return found;
}

// The parts of a condition that ask of one side alone, taken out of it.
ExpressionPtr takeSideCondition(std::vector<ExpressionPtr>* parts, const LogicalNode& side) {
  std::vector<ExpressionPtr> ofSide, others;
  for (ExpressionPtr& part : *parts) {
    const bool alone = part->deterministic() && refersOnlyTo(*part, side.output());
    (alone ? ofSide : others).push_back(std::move(part));
  }
  *parts = std::move(others);
  return joinConjuncts(ofSide);
}

}  // namespace

StreamJoin planStreamJoin(const LogicalJoin& join, const BatchContext& constants) {
  const JoinCondition condition = splitJoinCondition(join);
  if (condition.keys.empty()) {
    throw Error("_LEGACY_ERROR_TEMP_1181",
                "A join of two streams needs an equality of their columns in its condition.", {});
  }
  std::vector<JoinKey> keys;
  for (const JoinKey& key : condition.keys) {
    if (key.nullSafe)
      addNullSafeKeys(key, &keys);
    else
      keys.push_back(key);
  }
  StreamJoin result;
  result.type = join.type() == JoinType::Cross ? JoinType::Inner : join.type();
  std::vector<ExpressionPtr> rest =
      condition.rest ? splitConjuncts(condition.rest) : std::vector<ExpressionPtr>();
  const std::array<const LogicalNode*, 2> inputs = {join.left().get(), join.right().get()};
  for (size_t i = 0; i < 2; ++i) {
    StreamJoin::Side& side = result.sides[i];
    const Binder binder(inputs[i]->output(), constants);
    for (const JoinKey& key : keys) side.keys.push_back(binder.bind(i == 0 ? key.left : key.right));
    side.eventTime = eventTimeOf(*inputs[i]);
    side.bounds = boundsByWatermarkOf(condition.rest, *inputs[i], *inputs[1 - i]);
    if (const ExpressionPtr filter = takeSideCondition(&rest, *inputs[i])) side.filter = binder.bind(filter);
  }
  if (const auto column = watermarkedKey(keys))
    result.keyExpiry = EventTimeKey{*column, isWindowType(*keys[*column].left->type())};
  if (!rest.empty()) {
    std::vector<AttributePtr> pair = inputs[0]->output();
    pair.insert(pair.end(), inputs[1]->output().begin(), inputs[1]->output().end());
    result.condition = Binder(pair, constants).bind(joinConjuncts(rest));
  }
  return result;
}

}  // namespace thalweg
