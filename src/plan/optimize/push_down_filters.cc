// Filters move towards the rows' source: below projections of plain columns, into the sides of a join and
// into its condition.
#include <algorithm>
#include <functional>
#include <utility>

#include "expr/call.h"
#include "functions/registry.h"
#include "plan/logical/event_time.h"
#include "plan/logical/generate.h"
#include "plan/logical/join.h"
#include "plan/optimize/optimizer.h"

namespace thalweg {
namespace {

using Conjuncts = std::vector<ExpressionPtr>;

LogicalPtr push(const LogicalPtr& node, Conjuncts conjuncts);

LogicalPtr filtered(LogicalPtr node, const Conjuncts& conjuncts) {
  return conjuncts.empty() ? node
                           : std::make_shared<LogicalFilter>(joinConjuncts(conjuncts), std::move(node));
}

void append(Conjuncts* to, const Conjuncts& more) {
  to->insert(to->end(), more.begin(), more.end());
}

// The conjuncts that satisfy `moves` go to `moved`; the others stay.
template <typename Predicate>
Conjuncts takeFrom(Conjuncts* conjuncts, Predicate moves) {
  Conjuncts moved, kept;
  for (ExpressionPtr& one : *conjuncts) (moves(*one) ? moved : kept).push_back(std::move(one));
  *conjuncts = std::move(kept);
  return moved;
}

// Only what is a column of the child, or one under another name: nothing is computed twice. Values that
// depend on how many rows came before (rand, monotonically_increasing_id) must see all of them.
LogicalPtr pushThroughProject(const LogicalProject& project, Conjuncts conjuncts) {
  const auto definition = [&](const Expression& e) -> ExpressionPtr {
    for (const ExpressionPtr& one : project.expressions()) {
      if (one->kind() == ExpressionKind::Attribute &&
          static_cast<const Attribute&>(*one).id() == static_cast<const Attribute&>(e).id()) {
        return one;
      }
      if (one->kind() != ExpressionKind::Alias ||
          static_cast<const Alias&>(*one).id() != static_cast<const Attribute&>(e).id())
        continue;
      return one->children()[0]->kind() == ExpressionKind::Attribute ? one->children()[0] : nullptr;
    }
    return nullptr;
  };
  const bool deterministic = std::all_of(project.expressions().begin(), project.expressions().end(),
                                         [](const ExpressionPtr& one) { return one->deterministic(); });
  Conjuncts below = takeFrom(&conjuncts, [&](const Expression& one) {
    return deterministic && !anyOf(one, [&](const Expression& e) {
             return e.kind() == ExpressionKind::Attribute && !definition(e);
           });
  });
  for (ExpressionPtr& one : below) {
    one = transformUp(one, [&](const ExpressionPtr& e) {
      return e->kind() == ExpressionKind::Attribute ? definition(*e) : e;
    });
  }
  return filtered(project.withChildren({push(project.child(), std::move(below))}), conjuncts);
}

// The columns of `side` without which a comparison among the conjuncts is null.
std::vector<AttributePtr> comparedColumns(const Conjuncts& conjuncts, const LogicalNode& side) {
  std::vector<AttributePtr> found;
  const std::function<void(const ExpressionPtr&, bool)> collect = [&](const ExpressionPtr& e, bool isTop) {
    if (e->kind() == ExpressionKind::Attribute && refersOnlyTo(*e, side.output())) {
      const auto column = std::static_pointer_cast<const Attribute>(e);
      const bool known =
          std::any_of(found.begin(), found.end(), [&](const auto& one) { return one->id() == column->id(); });
      if (!known) found.push_back(column);
    }
    if (e->kind() == ExpressionKind::Call) {
      const std::string& name = static_cast<const Call&>(*e).traits().name;
      const bool compares = name == "=" || name == "<" || name == "<=" || name == ">" || name == ">=";
      if (isTop ? !compares : name != "+" && name != "-" && name != "*") return;
    } else if (e->kind() != ExpressionKind::Cast || isTop) {
      return;
    }
    for (const ExpressionPtr& child : e->children()) collect(child, false);
  };
  for (const ExpressionPtr& one : conjuncts) collect(one, true);
  return found;
}

// Rows of a stream that a join's condition leaves out for a null are left out below: they count for no
// watermark and are not kept.
void addNotNull(const Conjuncts& condition, const LogicalNode& side, Conjuncts* ofSide) {
  if (!side.isStreaming()) return;
  for (const AttributePtr& column : comparedColumns(condition, side)) {
    if (column->nullable()) ofSide->push_back(resolveFunction({"isnotnull", {column}}, FunctionContext()));
  }
}

// A filter above may go to a side whose rows all come out with their own values; a part of the condition only
// to a side whose rows do not come out without a match.
LogicalPtr pushThroughJoin(const LogicalJoin& join, Conjuncts above) {
  const JoinType type = join.type();
  const bool inner = type == JoinType::Inner || type == JoinType::Cross;
  const auto ofLeft = [&](const Expression& one) {
    return one.deterministic() && refersOnlyTo(one, join.left()->output());
  };
  const auto ofRight = [&](const Expression& one) {
    return one.deterministic() && refersOnlyTo(one, join.right()->output());
  };
  // The condition's parts come first: a filter above sees only the rows that they leave.
  Conjuncts condition = join.condition() ? splitConjuncts(join.condition()) : Conjuncts{};
  if (inner) {
    append(&condition, std::exchange(above, {}));
  }
  Conjuncts left, right;
  if (inner || type == JoinType::RightOuter || type == JoinType::LeftSemi)
    addNotNull(condition, *join.left(), &left);
  if (inner || type == JoinType::LeftOuter || type == JoinType::LeftSemi)
    addNotNull(condition, *join.right(), &right);
  if (inner || type == JoinType::RightOuter || type == JoinType::LeftSemi)
    append(&left, takeFrom(&condition, ofLeft));
  if (inner || type == JoinType::LeftOuter || isExistence(type))
    append(&right, takeFrom(&condition, ofRight));
  if (!keepsRight(type)) append(&left, takeFrom(&above, ofLeft));
  if (type == JoinType::RightOuter) append(&right, takeFrom(&above, ofRight));
  return filtered(join.with(joinConjuncts(condition), push(join.left(), std::move(left)),
                            push(join.right(), std::move(right))),
                  above);
}

// What asks for the columns that stay alone leaves out rows before others are made of them.
LogicalPtr pushThroughGenerate(const LogicalGenerate& generate, Conjuncts conjuncts) {
  Conjuncts below = takeFrom(&conjuncts, [&](const Expression& one) {
    return one.deterministic() && refersOnlyTo(one, generate.kept());
  });
  return filtered(generate.withChildren({push(generate.child(), std::move(below))}), conjuncts);
}

LogicalPtr push(const LogicalPtr& node, Conjuncts conjuncts) {
  switch (node->kind()) {
    case LogicalKind::EventTimeWatermark: {
      // Spark's watermark sees the rows that filters above it leave, unless they ask of its own column.
      const auto& watermark = static_cast<const LogicalEventTimeWatermark&>(*node);
      Conjuncts below = takeFrom(&conjuncts, [&](const Expression& one) {
        return one.deterministic() && !anyOf(one, [&](const Expression& e) {
                 return e.kind() == ExpressionKind::Attribute &&
                        static_cast<const Attribute&>(e).id() == watermark.eventTime()->id();
               });
      });
      return filtered(node->withChildren({push(watermark.child(), std::move(below))}), conjuncts);
    }
    case LogicalKind::Filter: {
      const auto& filter = static_cast<const LogicalFilter&>(*node);
      if (!filter.condition()->deterministic()) break;
      // The lower filter's parts come first: the upper ones see only the rows that it leaves.
      Conjuncts all = splitConjuncts(filter.condition());
      append(&all, conjuncts);
      return push(filter.child(), std::move(all));
    }
    case LogicalKind::SubqueryAlias:
      return push(node->child(), std::move(conjuncts));
    case LogicalKind::Repartition: {
      // Where a row lands must not change what a condition that differs from call to call lets through.
      Conjuncts below = takeFrom(&conjuncts, [](const Expression& one) { return one.deterministic(); });
      return filtered(node->withChildren({push(node->child(), std::move(below))}), conjuncts);
    }
    case LogicalKind::Project:
      return pushThroughProject(static_cast<const LogicalProject&>(*node), std::move(conjuncts));
    case LogicalKind::Generate:
      return pushThroughGenerate(static_cast<const LogicalGenerate&>(*node), std::move(conjuncts));
    case LogicalKind::Join:
      return pushThroughJoin(static_cast<const LogicalJoin&>(*node), std::move(conjuncts));
    default:
      break;
  }
  std::vector<LogicalPtr> children;
  for (const LogicalPtr& child : node->children()) children.push_back(push(child, {}));
  return filtered(children.empty() ? node : node->withChildren(std::move(children)), conjuncts);
}

}  // namespace

LogicalPtr pushDownFilters(const LogicalPtr& plan) {
  return push(plan, {});
}

}  // namespace thalweg
