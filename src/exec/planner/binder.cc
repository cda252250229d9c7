#include "exec/planner/binder.h"

#include <arrow/scalar.h>

#include "common/error.h"

namespace thalweg {

Binder::Binder(const std::vector<AttributePtr>& input, const BatchContext& constants)
    : constants_{&constants} {
  for (size_t i = 0; i < input.size(); ++i) ordinals_[input[i]->id()] = static_cast<int>(i);
}

ExpressionPtr Binder::bind(const ExpressionPtr& expression) const {
  return transformUp(expression, [&](const ExpressionPtr& e) -> ExpressionPtr {
    if (e->kind() == ExpressionKind::Alias) return e->children()[0];
    if (e->kind() == ExpressionKind::Attribute) {
      const auto& attribute = static_cast<const Attribute&>(*e);
      auto it = ordinals_.find(attribute.id());
      if (it == ordinals_.end())
        throw internalError("The column '" + attribute.name() + "' is not among its operator's inputs.");
      return std::make_shared<BoundReference>(it->second, attribute.type(), attribute.nullable(),
                                              attribute.name());
    }
    return foldConstant(e, constants_);
  });
}

std::vector<ExpressionPtr> Binder::bindAll(const std::vector<ExpressionPtr>& expressions) const {
  std::vector<ExpressionPtr> bound;
  for (const ExpressionPtr& expression : expressions) bound.push_back(bind(expression));
  return bound;
}

ExpressionPtr foldConstant(const ExpressionPtr& e, const EvaluationContext& constants) {
  const bool constant = e->kind() != ExpressionKind::Literal && e->kind() != ExpressionKind::Aggregate &&
                        e->kind() != ExpressionKind::SortOrder && e->foldability() == Foldability::Always;
  if (!constant) return e;
  try {
    return std::make_shared<Literal>(evaluateConstant(*e, constants), e->type());
  } catch (const Error&) {
    // A constant that fails (1/0) fails only for rows that reach it.
    return e;
  }
}

SchemaPtr fullSchema(const std::vector<AttributePtr>& output) {
  std::vector<StructField> fields;
  for (const AttributePtr& attribute : output) {
    fields.push_back({attribute->name(), attribute->type(), attribute->nullable(), attribute->metadata()});
  }
  return DataType::structOf(std::move(fields));
}

}  // namespace thalweg
