// Operators over many rows: aggregation, deduplication, unions, sorting.
#include <spark/connect/relations.pb.h>

#include "common/error.h"
#include "expr/aggregate.h"
#include "expr/canonical.h"
#include "expr/grouping.h"
#include "functions/coercion.h"
#include "plan/analyze/relations.h"
#include "plan/logical/generate.h"

namespace thalweg {
namespace {

namespace proto = spark::connect;

// Columns by name on both sides, for unionByName.
LogicalPtr reorderByName(const LogicalPtr& right, const LogicalPtr& left, bool allowMissing, bool caseSensitive, bool* leftChanged,
                         std::vector<ExpressionPtr>* leftExtra) {
  const Scope scope(right->output(), nullptr, caseSensitive);
  std::vector<ExpressionPtr> list;
  std::vector<ExpressionId> used;
  for (const AttributePtr& column : left->output()) {
    if (ExpressionPtr found = scope.find({column->name()})) {
      used.push_back(static_cast<const Attribute&>(*found).id());
      list.push_back(found);
    } else if (allowMissing) {
      list.push_back(std::make_shared<Alias>(Literal::null(column->type()), column->name()));
    } else {
      scope.resolve({column->name()});  // raises the error that names the column
    }
  }
  for (const AttributePtr& column : right->output()) {
    if (std::find(used.begin(), used.end(), column->id()) != used.end()) continue;
    if (!allowMissing) {
      throw Error("NUM_COLUMNS_MISMATCH", "The two sides of a union have different columns: only one has `" + column->name() + "`.");
    }
    list.push_back(column);
    leftExtra->push_back(std::make_shared<Alias>(Literal::null(column->type()), column->name()));
    *leftChanged = true;
  }
  return std::make_shared<LogicalProject>(std::move(list), right);
}

LogicalPtr castColumns(const LogicalPtr& child, const std::vector<DataTypePtr>& types, CastMode mode) {
  std::vector<ExpressionPtr> list;
  bool changed = false;
  for (size_t i = 0; i < types.size(); ++i) {
    const AttributePtr& column = child->output()[i];
    const ExpressionPtr cast = castTo(column, types[i], mode);
    changed = changed || cast != column;
    list.push_back(cast == column ? ExpressionPtr(column) : std::make_shared<Alias>(cast, column->name()));
  }
  return changed ? std::make_shared<LogicalProject>(std::move(list), child) : child;
}

// Both sides' columns by position in their common types.
std::vector<LogicalPtr> withCommonTypes(std::vector<LogicalPtr> children, const std::string& operation, const FunctionContext& functions) {
  std::vector<DataTypePtr> types;
  for (size_t column = 0; column < children[0]->output().size(); ++column) {
    DataTypePtr type = children[0]->output()[column]->type();
    for (const LogicalPtr& child : children) {
      DataTypePtr wider = commonType(type, child->output()[column]->type(), functions);
      if (!wider) {
        throw Error("INCOMPATIBLE_COLUMN_TYPE",
                    "Column " + std::to_string(column + 1) + " of the " + operation + " has types that do not go together: " +
                        type->sqlString() + " and " + child->output()[column]->type()->sqlString() + ".",
                    {{"operator", operation}, {"columnOrdinalNumber", std::to_string(column + 1)},
                     {"dataType1", "\"" + child->output()[column]->type()->sqlString() + "\""},
                     {"dataType2", "\"" + type->sqlString() + "\""}});
      }
      type = wider;
    }
    types.push_back(type);
  }
  for (LogicalPtr& child : children) child = castColumns(child, types, functions.castMode());
  return children;
}

const char* nameOf(proto::SetOperation::SetOpType type) {
  switch (type) {
    case proto::SetOperation::SET_OP_TYPE_UNION: return "UNION";
    case proto::SetOperation::SET_OP_TYPE_INTERSECT: return "INTERSECT";
    case proto::SetOperation::SET_OP_TYPE_EXCEPT: return "EXCEPT";
    default: throw Error("CONNECT_INVALID_PLAN.SET_OPERATION", "The set operation is of no kind that this server knows.");
  }
}

// Rows that have (or have not) an equal one on the right, nulls equal to nulls. `all`: an equal one each.
LogicalPtr matchRows(JoinType type, const LogicalPtr& left, const LogicalPtr& right, bool all, const FunctionContext& functions) {
  std::vector<ExpressionPtr> aliases(right->output().begin(), right->output().end());
  // Both sides may be one plan, but a column is on one side of a join alone.
  for (ExpressionPtr& column : aliases) column = std::make_shared<Alias>(column, static_cast<const Attribute&>(*column).name());
  const auto renamed = std::make_shared<LogicalProject>(std::move(aliases), right);
  std::vector<ExpressionPtr> equalities;
  for (size_t i = 0; i < left->output().size(); ++i) {
    equalities.push_back(resolveFunction({"<=>", {left->output()[i], renamed->output()[i]}}, functions));
  }
  return std::make_shared<LogicalJoin>(type, joinConjuncts(equalities), left, renamed, all);
}

bool holdsMap(const DataType& type) {
  return type.id() == TypeId::Map || (type.id() == TypeId::Array && holdsMap(*type.element())) ||
         (type.id() == TypeId::Struct &&
          std::any_of(type.fields().begin(), type.fields().end(), [](const StructField& field) { return holdsMap(*field.type); }));
}

void refuseMaps(const LogicalNode& plan) {
  for (const AttributePtr& column : plan.output()) {
    if (!holdsMap(*column->type())) continue;
    throw Error("UNSUPPORTED_FEATURE.SET_OPERATION_ON_MAP_TYPE",
                "Rows with maps cannot be compared: the column `" + column->name() + "` is " + column->type()->sqlString() + ".",
                {{"colName", "`" + column->name() + "`"}, {"dataType", "\"" + column->type()->sqlString() + "\""}});
  }
}

}  // namespace

LogicalPtr distinctRows(const LogicalPtr& child) {
  if (!child->isStreaming()) return std::make_shared<LogicalDeduplicate>(child->output(), child);
  const std::vector<ExpressionPtr> columns(child->output().begin(), child->output().end());
  return std::make_shared<LogicalAggregate>(columns, columns, child);
}

LogicalPtr makeAggregate(const std::vector<ExpressionPtr>& grouping, std::vector<ExpressionPtr> results, const LogicalPtr& child) {
  std::vector<ExpressionPtr> groups;
  std::vector<std::pair<std::string, AttributePtr>> groupColumns;  // canonical text → its column
  for (const ExpressionPtr& expression : grouping) {
    const ExpressionPtr group = named(expression);
    const AttributePtr column = group->kind() == ExpressionKind::Attribute ? std::static_pointer_cast<const Attribute>(group)
                                                                           : static_cast<const Alias&>(*group).toAttribute();
    groupColumns.emplace_back(canonicalText(*expression), column);
    groups.push_back(group);
  }
  auto toGroups = [&](const ExpressionPtr& expression) -> ExpressionPtr {
    if (expression->kind() == ExpressionKind::Alias) return expression;
    const std::string text = canonicalText(*expression);
    for (const auto& [groupText, column] : groupColumns) {
      if (groupText == text) return column;
    }
    return expression;
  };
  for (ExpressionPtr& result : results) {
    // Arguments of aggregate functions are evaluated over the input, everything else over the groups.
    std::function<ExpressionPtr(const ExpressionPtr&)> rewrite = [&](const ExpressionPtr& e) -> ExpressionPtr {
      if (e->kind() == ExpressionKind::Aggregate) return e;
      const ExpressionPtr replaced = toGroups(e);
      if (replaced != e || e->children().empty()) return replaced;
      std::vector<ExpressionPtr> children;
      for (const ExpressionPtr& part : e->children()) children.push_back(rewrite(part));
      return e->withChildren(std::move(children));
    };
    const ExpressionPtr rewritten = rewrite(result);
    // A grouping expression under a name of its own keeps that name.
    result = rewritten;
    std::function<void(const Expression&)> check = [&](const Expression& e) {
      if (e.kind() == ExpressionKind::Aggregate) return;
      if (e.kind() == ExpressionKind::Grouping) GroupingCall::refuse();
      if (e.kind() == ExpressionKind::Attribute) {
        const auto& attribute = static_cast<const Attribute&>(e);
        for (const auto& [text, column] : groupColumns) {
          if (column->id() == attribute.id()) return;
        }
        throw Error("MISSING_AGGREGATION",
                    "The column '" + attribute.name() + "' is neither grouped by nor inside an aggregate function; "
                    "add it to groupBy, or wrap it in any_value().",
                    {{"expression", "\"" + attribute.name() + "\""}, {"expressionAnyValue", "\"any_value(" + attribute.name() + ")\""}});
      }
      for (const ExpressionPtr& part : e.children()) check(*part);
    };
    check(*result);
  }
  return std::make_shared<LogicalAggregate>(std::move(groups), std::move(results), child);
}

namespace {

std::vector<std::vector<ExpressionPtr>> resolveSets(const google::protobuf::RepeatedPtrField<proto::Aggregate::GroupingSets>& messages,
                                                    const ExpressionAnalyzer& expressions) {
  std::vector<std::vector<ExpressionPtr>> sets;
  for (const auto& message : messages) {
    auto& set = sets.emplace_back();
    for (const auto& one : message.grouping_set()) set.push_back(expressions.resolve(one));
  }
  return sets;
}

}  // namespace

std::optional<GroupingType> groupingTypeOf(int groupType) {
  switch (groupType) {
    case proto::Aggregate::GROUP_TYPE_ROLLUP: return GroupingType::Rollup;
    case proto::Aggregate::GROUP_TYPE_CUBE: return GroupingType::Cube;
    case proto::Aggregate::GROUP_TYPE_GROUPING_SETS: return GroupingType::Sets;
    default: return std::nullopt;
  }
}

LogicalPtr RelationAnalyzer::aggregate(const proto::Relation& relation) {
  const auto& message = relation.aggregate();
  LogicalPtr child = analyze(message.input());
  const Scope scope = scopeOf(*child);
  const ExpressionAnalyzer expressions(scope, context_);
  std::vector<ExpressionPtr> grouping;
  for (const auto& group : message.grouping_expressions()) {
    if (const auto ordinal = ordinalOf(group)) throw unsupported("groupBy of a column's position");
    for (ExpressionPtr& one : expressions.resolveNamed(group)) {
      grouping.push_back(one->kind() == ExpressionKind::Alias && group.has_unresolved_star() ? one->children()[0] : std::move(one));
    }
  }
  const size_t numGroups = grouping.size();
  // Grouping and results in one list: a window that stands in both is one column.
  std::vector<ExpressionPtr> all = std::move(grouping);
  for (const auto& aggregate : message.aggregate_expressions()) {
    for (ExpressionPtr& one : expressions.resolveNamed(aggregate)) all.push_back(std::move(one));
  }
  child = placeTimeWindows(&all, std::move(child));
  grouping.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(numGroups));
  std::vector<ExpressionPtr> aggregates(all.begin() + static_cast<std::ptrdiff_t>(numGroups), all.end());
  if (message.group_type() == proto::Aggregate::GROUP_TYPE_PIVOT) aggregates = pivoted(message.pivot(), aggregates, child);
  const std::optional<GroupingType> type = groupingTypeOf(message.group_type());
  // The groups' columns come first, under their names.
  std::vector<ExpressionPtr> results;
  for (const ExpressionPtr& group : grouping) {
    const bool isAttribute = !type && group->kind() == ExpressionKind::Alias;
    results.push_back(isAttribute ? ExpressionPtr(static_cast<const Alias&>(*group).toAttribute()) : group);
  }
  results.insert(results.end(), aggregates.begin(), aggregates.end());
  if (!type) return makeAggregateAndGenerate(grouping, std::move(results), child);
  auto sets = groupingSetsOf(*type, resolveSets(message.grouping_sets(), expressions), &grouping);
  return makeGroupingSets(std::move(grouping), std::move(sets), std::move(results), child);
}

LogicalPtr RelationAnalyzer::deduplicate(const proto::Relation& relation) {
  const auto& message = relation.deduplicate();
  LogicalPtr child = withoutHiddenColumns(analyze(message.input()));
  std::vector<AttributePtr> keys;
  if (message.all_columns_as_keys()) {
    keys = child->output();
  } else {
    const Scope scope = scopeOf(*child);
    for (const std::string& name : message.column_names()) {
      const auto key = std::static_pointer_cast<const Attribute>(scope.resolve({name}));
      const bool known = std::any_of(keys.begin(), keys.end(), [&](const AttributePtr& one) { return one->id() == key->id(); });
      if (!known) keys.push_back(key);
    }
  }
  return std::make_shared<LogicalDeduplicate>(std::move(keys), child, message.within_watermark());
}

LogicalPtr makeUnion(std::vector<LogicalPtr> children, const FunctionContext& functions) {
  return std::make_shared<LogicalUnion>(withCommonTypes(std::move(children), "UNION", functions));
}

LogicalPtr RelationAnalyzer::setOperation(const proto::Relation& relation) {
  const auto& message = relation.set_op();
  const char* name = nameOf(message.set_op_type());
  LogicalPtr left = withoutHiddenColumns(analyze(message.left_input()));
  LogicalPtr right = withoutHiddenColumns(analyze(message.right_input()));
  if (message.by_name()) {
    bool leftChanged = false;
    std::vector<ExpressionPtr> leftExtra;
    right = reorderByName(right, left, message.allow_missing_columns(), context_.functions.caseSensitive, &leftChanged, &leftExtra);
    if (leftChanged) {
      std::vector<ExpressionPtr> list(left->output().begin(), left->output().end());
      list.insert(list.end(), leftExtra.begin(), leftExtra.end());
      left = std::make_shared<LogicalProject>(std::move(list), left);
    }
  }
  if (left->output().size() != right->output().size()) {
    throw Error("NUM_COLUMNS_MISMATCH",
                "The two sides of " + std::string(name) + " have " + std::to_string(left->output().size()) + " and " +
                    std::to_string(right->output().size()) + " columns.",
                {{"operator", name}, {"firstNumColumns", std::to_string(left->output().size())},
                 {"invalidOrdinalNum", "second"}, {"invalidNumColumns", std::to_string(right->output().size())}});
  }
  LogicalPtr result;
  if (message.set_op_type() == proto::SetOperation::SET_OP_TYPE_UNION) {
    result = makeUnion({left, right}, context_.functions);
  } else {
    refuseMaps(*left);
    const std::vector<LogicalPtr> typed = withCommonTypes({left, right}, name, context_.functions);
    const bool intersect = message.set_op_type() == proto::SetOperation::SET_OP_TYPE_INTERSECT;
    if (intersect && (left->isStreaming() || right->isStreaming())) {
      throw Error("_LEGACY_ERROR_TEMP_3102", "INTERSECT with a stream is not supported: join the two instead.",
                  {{"msg", "Intersect of streaming DataFrames/Datasets is not supported"}});
    }
    result = matchRows(intersect ? JoinType::LeftSemi : JoinType::LeftAnti, typed[0], typed[1], message.is_all(), context_.functions);
  }
  return message.is_all() ? result : distinctRows(result);
}

std::vector<ExpressionPtr> RelationAnalyzer::sortOrders(const proto::Sort& sort, const Scope& scope, const std::vector<AttributePtr>& positions,
                                                       const std::vector<ExpressionPtr>* aliases) const {
  const ExpressionAnalyzer expressions(scope, context_, aliases);
  std::vector<ExpressionPtr> orders;
  for (const auto& order : sort.order()) {
    proto::Expression wrapped;
    *wrapped.mutable_sort_order() = order;
    const auto ordinal = ordinalOf(order.child());
    if (!ordinal) {
      orders.push_back(expressions.resolve(wrapped));
      refuseTimeWindow(*orders.back(), "ORDER BY");
      continue;
    }
    if (*ordinal < 1 || *ordinal > static_cast<int>(positions.size())) {
      throw Error("ORDER_BY_POS_OUT_OF_RANGE",
                  "ORDER BY " + std::to_string(*ordinal) + " names no item of the select list, which has " + std::to_string(positions.size()) + ".",
                  {{"index", std::to_string(*ordinal)}, {"size", std::to_string(positions.size())}});
    }
    wrapped.mutable_sort_order()->mutable_child()->mutable_literal()->mutable_null()->mutable_null();
    orders.push_back(expressions.resolve(wrapped)->withChildren({positions[static_cast<size_t>(*ordinal - 1)]}));
  }
  return orders;
}

// ORDER BY ALL: a word that means all columns where none has that name.
static bool isOrderByAll(const proto::Sort& sort) {
  if (sort.order_size() != 1 || !sort.order(0).child().has_unresolved_attribute()) return false;
  const auto& attribute = sort.order(0).child().unresolved_attribute();
  return !attribute.has_plan_id() && equalsIgnoreCase(attribute.unparsed_identifier(), "all");
}

LogicalPtr RelationAnalyzer::sortByAll(const proto::Sort& sort, const LogicalPtr& child) const {
  const std::vector<AttributePtr> columns = visibleOutput(*child);
  proto::Sort all;
  for (size_t i = 0; i < columns.size(); ++i) {
    *all.add_order() = sort.order(0);
    all.mutable_order(static_cast<int>(i))
        ->mutable_child()
        ->mutable_literal()
        ->set_integer(static_cast<int>(i) + 1);
  }
  return std::make_shared<LogicalSort>(sortOrders(all, scopeOf(*child), columns, nullptr), /*global=*/true,
                                       child);
}

// Sort keys over an aggregate may be aggregate functions or groups that the results leave out: they become results of the
// aggregate, and are dropped again above the sort. `plan` is an aggregate, or HAVING's shape over one.
LogicalPtr RelationAnalyzer::sortAggregate(const proto::Sort& sort, bool global, const LogicalPtr& plan) const {
  const LogicalNode* filter = nullptr;
  const LogicalNode* node = plan.get();
  if (node->kind() == LogicalKind::Project && node->child()->kind() == LogicalKind::Filter) node = node->child().get();
  if (node->kind() == LogicalKind::Filter) {
    filter = node;
    node = node->child().get();
  }
  if (node->kind() != LogicalKind::Aggregate) return nullptr;
  const auto& aggregate = static_cast<const LogicalAggregate&>(*node);
  const std::vector<ExpressionPtr>& results = aggregate.results();
  const auto* expand = aggregate.child()->kind() == LogicalKind::Expand ? static_cast<const LogicalExpand*>(aggregate.child().get()) : nullptr;
  const auto isOfGroups = [&](const Expression& order) {
    return containsAggregate(order) || anyOf(order, [](const Expression& e) { return e.kind() == ExpressionKind::Grouping; });
  };
  const Scope input((expand ? expand->child() : aggregate.child())->output(), &planOutputs_, context_.functions.caseSensitive);
  const Scope output(plan->output(), &planOutputs_, context_.functions.caseSensitive);
  std::vector<ExpressionPtr> extended = results;
  std::vector<ExpressionPtr> orders;
  for (const auto& order : sort.order()) {
    proto::Sort one;
    *one.add_order() = order;
    // Result columns first; an aggregate function's arguments are always the input's.
    ExpressionPtr resolved;
    try {
      resolved = sortOrders(one, output, visibleOutput(*plan), nullptr)[0];
    } catch (const Error& error) {
      if (!error.condition().starts_with("UNRESOLVED_COLUMN") && !error.condition().starts_with("CANNOT_RESOLVE")) throw;
    }
    if (!resolved || isOfGroups(*resolved)) {
      resolved = sortOrders(one, input, visibleOutput(*plan), &results)[0];
      if (expand) resolved = expand->grouping().overGroups(resolved);
      const auto key = std::make_shared<Alias>(resolved->children()[0], "__order" + std::to_string(orders.size()));
      extended.push_back(key);
      resolved = resolved->withChildren({key->toAttribute()});
    }
    orders.push_back(resolved);
  }
  LogicalPtr sorted = extended.size() == results.size() ? nullptr : makeAggregate(aggregate.grouping(), extended, aggregate.child());
  if (!sorted) return std::make_shared<LogicalSort>(std::move(orders), global, plan);
  if (filter) sorted = filter->withChildren({sorted});
  sorted = std::make_shared<LogicalSort>(std::move(orders), global, sorted);
  return std::make_shared<LogicalProject>(std::vector<ExpressionPtr>(plan->output().begin(), plan->output().end()), sorted);
}

LogicalPtr RelationAnalyzer::sort(const proto::Relation& relation) {
  LogicalPtr child = analyze(relation.sort().input());
  const proto::Sort& sort = relation.sort();
  const bool global = !sort.has_is_global() || sort.is_global();
  if (global && isOrderByAll(sort) && !scopeOf(*child).find({"all"})) return sortByAll(sort, child);
  if (LogicalPtr sorted = sortAggregate(sort, global, child)) return sorted;
  const std::vector<AttributePtr> positions = visibleOutput(*child);
  try {
    return std::make_shared<LogicalSort>(sortOrders(sort, scopeOf(*child), positions, nullptr), global, child);
  } catch (const Error& error) {
    // A sort may name a column that a projection below it left out: it is carried through and dropped again.
    const bool unresolved = error.condition().starts_with("UNRESOLVED_COLUMN") || error.condition().starts_with("CANNOT_RESOLVE");
    if (!unresolved || child->kind() != LogicalKind::Project) throw;
    std::vector<AttributePtr> columns = child->output();
    const auto& project = static_cast<const LogicalProject&>(*child);
    std::vector<ExpressionPtr> carried = project.expressions();
    for (const AttributePtr& hidden : project.child()->output()) {
      const bool shown = std::any_of(columns.begin(), columns.end(), [&](const AttributePtr& c) {
        return c->id() == hidden->id() || (hidden->qualifier().empty() && equalsIgnoreCase(c->name(), hidden->name()));
      });
      if (shown) continue;
      columns.push_back(hidden->withHidden());
      carried.push_back(hidden);
    }
    const Scope scope(columns, &planOutputs_, context_.functions.caseSensitive);
    std::vector<ExpressionPtr> orders;
    try {
      orders = sortOrders(sort, scope, positions, nullptr);
    } catch (const Error& second) {
      if (second.condition().starts_with("UNRESOLVED_COLUMN")) throw error;  // with the select list's names
      throw;
    }
    const LogicalPtr sorted =
        std::make_shared<LogicalSort>(std::move(orders), global, std::make_shared<LogicalProject>(std::move(carried), project.child()));
    return std::make_shared<LogicalProject>(std::vector<ExpressionPtr>(child->output().begin(), child->output().end()), sorted);
  }
}

LogicalPtr RelationAnalyzer::showString(const proto::Relation& relation) {
  const auto& show = relation.show_string();
  return context_.drawRows(withoutHiddenColumns(analyze(show.input())), show.num_rows(), show.truncate(), show.vertical());
}

}  // namespace thalweg
