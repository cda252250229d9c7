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

std::vector<ExpressionPtr> AggregateCall::arguments() const {
  std::vector<ExpressionPtr> arguments = children();
  if (spec_->filtered) arguments.pop_back();
  return arguments;
}

ExpressionPtr AggregateCall::withFilter(ExpressionPtr filter) const {
  auto spec = std::make_shared<Spec>(*spec_);
  spec->filtered = true;
  std::vector<ExpressionPtr> all = children();
  all.push_back(std::move(filter));
  return std::make_shared<AggregateCall>(std::move(spec), std::move(all));
}

std::string AggregateCall::toString() const {
  std::string text = spec_->text;
  if (text.empty()) {
    text = spec_->name + "(" + (spec_->distinct ? "DISTINCT " : "");
    const std::vector<ExpressionPtr> arguments = this->arguments();
    for (size_t i = 0; i < arguments.size(); ++i) text += (i ? ", " : "") + arguments[i]->toString();
    text += ")";
  }
  text += spec_->tail;
  return spec_->filtered ? text + " FILTER (WHERE " + children().back()->toString() + ")" : text;
}

bool containsAggregate(const Expression& expression) {
  return anyOf(expression, [](const Expression& e) { return e.kind() == ExpressionKind::Aggregate; });
}

}  // namespace thalweg
