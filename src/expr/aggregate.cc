#include "expr/aggregate.h"

#include "common/error.h"

namespace thalweg {

std::vector<std::shared_ptr<arrow::Array>> Aggregator::saveBuffers(std::span<const uint32_t>, arrow::MemoryPool*) const {
  throw internalError("an aggregate without buffers was saved");
}

void Aggregator::loadBuffers(std::span<const uint32_t>, const std::vector<std::shared_ptr<arrow::Array>>&) {
  throw internalError("an aggregate without buffers was loaded");
}

AggregateCall::AggregateCall(std::shared_ptr<const Spec> spec, std::vector<ExpressionPtr> arguments)
    : Expression(ExpressionKind::Aggregate, spec->type, spec->nullable, std::move(arguments)), spec_(std::move(spec)) {}

arrow::Datum AggregateCall::evaluate(const arrow::RecordBatch&, const Selection&, const EvaluationContext&) const {
  throw internalError("The aggregate '" + toString() + "' was evaluated as a row's expression.");
}

ExpressionPtr AggregateCall::withChildren(std::vector<ExpressionPtr> children) const {
  return std::make_shared<AggregateCall>(spec_, std::move(children));
}

std::string AggregateCall::toString() const {
  if (!spec_->text.empty()) return spec_->text;
  std::string text = spec_->name + "(" + (spec_->distinct ? "DISTINCT " : "");
  for (size_t i = 0; i < children().size(); ++i) text += (i ? ", " : "") + children()[i]->toString();
  return text + ")";
}

bool containsAggregate(const Expression& expression) {
  return anyOf(expression, [](const Expression& e) { return e.kind() == ExpressionKind::Aggregate; });
}

}  // namespace thalweg
