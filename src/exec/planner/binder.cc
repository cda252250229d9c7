#include "exec/planner/binder.h"

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

SchemaPtr fullSchema(const std::vector<AttributePtr>& output) {
  std::vector<StructField> fields;
  for (const AttributePtr& attribute : output) {
    fields.push_back({attribute->name(), attribute->type(), attribute->nullable(), attribute->metadata()});
  }
  return DataType::structOf(std::move(fields));
}

}  // namespace thalweg
