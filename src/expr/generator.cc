#include "expr/generator.h"

#include <arrow/datum.h>

#include "common/error.h"

namespace thalweg {

GeneratorCall::GeneratorCall(std::shared_ptr<const Spec> spec, std::vector<ExpressionPtr> arguments)
    : Expression(ExpressionKind::Generator, DataType::structOf(spec->columns), false, std::move(arguments)),
      spec_(std::move(spec)) {}

ExpressionPtr GeneratorCall::withNames(const std::vector<std::string>& names) const {
  if (names.size() != spec_->columns.size()) {
    throw Error("UDTF_ALIAS_NUMBER_MISMATCH",
                "'" + toString() + "' makes " + std::to_string(spec_->columns.size()) + " columns, but has " +
                    std::to_string(names.size()) + " names.",
                {{"aliasesSize", std::to_string(names.size())},
                 {"outputSize", std::to_string(spec_->columns.size())}});
  }
  auto spec = std::make_shared<Spec>(*spec_);
  for (size_t i = 0; i < names.size(); ++i) spec->columns[i].name = names[i];
  return std::make_shared<GeneratorCall>(std::move(spec), children());
}

ExpressionPtr GeneratorCall::asOuter() const {
  auto spec = std::make_shared<Spec>(*spec_);
  spec->outer = true;
  for (StructField& column : spec->columns) column.nullable = true;
  return std::make_shared<GeneratorCall>(std::move(spec), children());
}

arrow::Datum GeneratorCall::evaluate(const arrow::RecordBatch&, const Selection&,
                                     const EvaluationContext&) const {
  throw Error("UNSUPPORTED_GENERATOR.OUTSIDE_SELECT",
              "'" + toString() +
                  "' makes several rows of one and can stand in a select list only, as an item of its own.",
              {{"plan", toString()}});
}

ExpressionPtr GeneratorCall::withChildren(std::vector<ExpressionPtr> children) const {
  return std::make_shared<GeneratorCall>(spec_, std::move(children));
}

std::string GeneratorCall::toString() const {
  std::string text = spec_->name + "(";
  for (size_t i = 0; i < children().size(); ++i) text += (i ? ", " : "") + children()[i]->toString();
  return text + ")";
}

bool containsGenerator(const Expression& expression) {
  return anyOf(expression, [](const Expression& e) { return e.kind() == ExpressionKind::Generator; });
}

}  // namespace thalweg
