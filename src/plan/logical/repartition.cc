#include "plan/logical/repartition.h"

namespace thalweg {
namespace {

const char* nameOf(RowSpread::Kind kind) {
  switch (kind) {
    case RowSpread::Kind::Merged:
      return "Coalesce";
    case RowSpread::Kind::RoundRobin:
      return "RoundRobin";
    case RowSpread::Kind::Hashed:
      return "Hash";
    case RowSpread::Kind::Ranged:
      return "Range";
  }
  return "";
}

}  // namespace

std::string describeSpread(const RowSpread& spread) {
  std::string text = nameOf(spread.kind);
  if (spread.numPartitions > 0) text += ", " + std::to_string(spread.numPartitions);
  for (const ExpressionPtr& key : spread.keys) text += ", " + key->toString();
  return text;
}

LogicalRepartition::LogicalRepartition(RowSpread spread, LogicalPtr child)
    : LogicalNode(LogicalKind::Repartition, {child}, child->output()), spread_(std::move(spread)) {}

LogicalPtr LogicalRepartition::withChildren(std::vector<LogicalPtr> children) const {
  return std::make_shared<LogicalRepartition>(spread_, std::move(children[0]));
}

std::string LogicalRepartition::describe() const {
  return "Repartition " + describeSpread(spread_);
}

}  // namespace thalweg
