#include "plan/logical/generate.h"

#include <algorithm>
#include <set>

#include "common/error.h"
#include "expr/canonical.h"
#include "expr/cast/cast.h"
#include "expr/grouping.h"
#include "functions/registry.h"

namespace thalweg {
namespace {

constexpr size_t kMostExpressions = 64;

std::vector<AttributePtr> followedBy(std::vector<AttributePtr> first,
                                     const std::vector<AttributePtr>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

bool holds(const std::vector<size_t>& set, size_t which) {
  return std::find(set.begin(), set.end(), which) != set.end();
}

std::string joined(const std::vector<ExpressionPtr>& expressions) {
  std::string text;
  for (const ExpressionPtr& one : expressions) text += (text.empty() ? "" : ", ") + one->toString();
  return text;
}

std::string nameOf(const ExpressionPtr& expression) {
  if (expression->kind() == ExpressionKind::Alias) return static_cast<const Alias&>(*expression).name();
  if (expression->kind() == ExpressionKind::Attribute)
    return static_cast<const Attribute&>(*expression).name();
  return expression->toString();
}

std::string metadataOf(const ExpressionPtr& expression) {
  const ExpressionPtr& inner =
      expression->kind() == ExpressionKind::Alias ? expression->children()[0] : expression;
  return inner->kind() == ExpressionKind::Attribute ? static_cast<const Attribute&>(*inner).metadata()
                                                    : std::string();
}

ExpressionPtr unaliased(const ExpressionPtr& expression) {
  return expression->kind() == ExpressionKind::Alias ? expression->children()[0] : expression;
}

}  // namespace

LogicalGenerate::LogicalGenerate(std::shared_ptr<const GeneratorCall> generator,
                                 std::vector<AttributePtr> generated, LogicalPtr child)
    : LogicalGenerate(std::move(generator), child->output(), std::move(generated), child) {}

LogicalGenerate::LogicalGenerate(std::shared_ptr<const GeneratorCall> generator,
                                 std::vector<AttributePtr> kept, std::vector<AttributePtr> generated,
                                 LogicalPtr child)
    : LogicalNode(LogicalKind::Generate, {std::move(child)}, followedBy(kept, generated)),
      generator_(std::move(generator)),
      kept_(std::move(kept)),
      generated_(std::move(generated)) {}

LogicalPtr LogicalGenerate::withChildren(std::vector<LogicalPtr> children) const {
  return std::make_shared<LogicalGenerate>(generator_, kept_, generated_, std::move(children[0]));
}

std::string LogicalGenerate::describe() const {
  return "Generate " + generator_->toString() + (generator_->spec().outer ? ", true" : ", false");
}

GroupingSets GroupingSets::of(std::vector<ExpressionPtr> expressions, std::vector<std::vector<size_t>> sets) {
  if (expressions.size() > kMostExpressions) {
    throw Error("GROUPING_SIZE_LIMIT_EXCEEDED",
                "There are " + std::to_string(expressions.size()) +
                    " grouping expressions; grouping sets take " + std::to_string(kMostExpressions) +
                    " at most.",
                {{"maxSize", std::to_string(kMostExpressions)}});
  }
  GroupingSets grouping;
  for (size_t i = 0; i < expressions.size(); ++i) {
    const ExpressionPtr& one = expressions[i];
    const bool always = std::all_of(sets.begin(), sets.end(), [&](const auto& set) { return holds(set, i); });
    grouping.columns.push_back(std::make_shared<Attribute>(nameOf(one), one->type(),
                                                           one->nullable() || !always, nextExpressionId(),
                                                           std::vector<std::string>{}, metadataOf(one)));
    grouping.expressions.push_back(unaliased(one));
  }
  grouping.id = std::make_shared<Attribute>("spark_grouping_id", longType(), false, nextExpressionId());
  if (std::set<std::vector<size_t>>(sets.begin(), sets.end()).size() < sets.size())
    grouping.position =
        std::make_shared<Attribute>("_gen_grouping_pos", intType(), false, nextExpressionId());
  grouping.sets = std::move(sets);
  return grouping;
}

std::vector<AttributePtr> GroupingSets::added() const {
  std::vector<AttributePtr> added = columns;
  added.push_back(id);
  if (position) added.push_back(position);
  return added;
}

ExpressionPtr GroupingSets::overGroups(const ExpressionPtr& expression) const {
  const auto find = [&](const Expression& e) -> size_t {
    const std::string text = canonicalText(e);
    size_t i = 0;
    while (i < expressions.size() && canonicalText(*expressions[i]) != text) ++i;
    return i;
  };
  if (expression->kind() == ExpressionKind::Grouping) {
    const auto& call = static_cast<const GroupingCall&>(*expression);
    if (call.ofOneColumn()) {
      const size_t i = find(*call.children()[0]);
      if (i == expressions.size()) {
        throw Error("GROUPING_COLUMN_MISMATCH",
                    "grouping(" + call.children()[0]->toString() +
                        ") names no grouping column; those are: " + joined(expressions) + ".",
                    {{"grouping", call.children()[0]->toString()}, {"groupingColumns", joined(expressions)}});
      }
      const auto bits = static_cast<int32_t>(expressions.size() - 1 - i);
      const ExpressionPtr shifted =
          resolveFunction({"shiftright", {id, Literal::of(bits)}}, FunctionContext{});
      return castTo(resolveFunction({"&", {shifted, Literal::of(int64_t{1})}}, FunctionContext{}), byteType(),
                    CastMode::Legacy);
    }
    bool all = call.children().empty() || call.children().size() == expressions.size();
    for (size_t i = 0; all && i < call.children().size(); ++i) all = find(*call.children()[i]) == i;
    if (!all) {
      throw Error("GROUPING_ID_COLUMN_MISMATCH",
                  "grouping_id takes all grouping columns in their order, or none: " + joined(expressions) +
                      ", not " + joined(call.children()) + ".",
                  {{"groupingIdColumn", joined(call.children())}, {"groupByColumns", joined(expressions)}});
    }
    return id;
  }
  if (expression->kind() == ExpressionKind::Aggregate) return expression;
  if (expression->kind() != ExpressionKind::Alias) {
    if (const size_t i = find(*expression); i < expressions.size()) return columns[i];
  }
  if (expression->children().empty()) return expression;
  std::vector<ExpressionPtr> children;
  bool changed = false;
  for (const ExpressionPtr& child : expression->children()) {
    children.push_back(overGroups(child));
    changed = changed || children.back() != child;
  }
  return changed ? expression->withChildren(std::move(children)) : expression;
}

LogicalExpand::LogicalExpand(GroupingSets grouping, LogicalPtr child)
    : LogicalNode(LogicalKind::Expand, {child}, followedBy(child->output(), grouping.added())),
      grouping_(std::move(grouping)) {}

std::vector<std::vector<ExpressionPtr>> LogicalExpand::projections() const {
  std::vector<std::vector<ExpressionPtr>> projections;
  const size_t count = grouping_.expressions.size();
  for (size_t s = 0; s < grouping_.sets.size(); ++s) {
    std::vector<ExpressionPtr> row(child()->output().begin(), child()->output().end());
    uint64_t bits = 0;
    for (size_t i = 0; i < count; ++i) {
      const bool held = holds(grouping_.sets[s], i);
      row.push_back(held ? grouping_.expressions[i] : Literal::null(grouping_.expressions[i]->type()));
      bits = bits << 1 | (held ? 0 : 1);
    }
    row.push_back(Literal::of(static_cast<int64_t>(bits)));
    if (grouping_.position) row.push_back(Literal::of(static_cast<int32_t>(s)));
    projections.push_back(std::move(row));
  }
  return projections;
}

LogicalPtr LogicalExpand::withChildren(std::vector<LogicalPtr> children) const {
  return std::make_shared<LogicalExpand>(grouping_, std::move(children[0]));
}

std::string LogicalExpand::describe() const {
  return "Expand " + std::to_string(grouping_.sets.size()) + " sets of [" + joined(grouping_.expressions) +
         "]";
}

}  // namespace thalweg
