#include "streaming/batch/state_columns.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "common/error.h"
#include "exec/state/operator_state.h"
#include "expr/aggregate.h"
#include "expr/canonical.h"

namespace thalweg {
namespace {

// The column, or the field of one, that an expression is; empty where it is another thing.
std::string pathOf(const Expression& expression) {
  if (expression.kind() == ExpressionKind::Attribute) return static_cast<const Attribute&>(expression).name();
  if (expression.kind() != ExpressionKind::Field) return "";
  const std::string parent = pathOf(*expression.children()[0]);
  return parent.empty() ? "" : parent + "." + static_cast<const FieldAccess&>(expression).fieldName();
}

void collectPaths(const Expression& expression, std::set<std::string>* paths) {
  if (const std::string path = pathOf(expression); !path.empty()) {
    paths->insert(path);
    return;
  }
  for (const ExpressionPtr& child : expression.children()) collectPaths(*child, paths);
}

// Each call once, in the order in which the planner gives them places in the state.
void collectCalls(const ExpressionPtr& expression, std::set<std::string>* known,
                  std::vector<const AggregateCall*>* calls) {
  if (expression->kind() == ExpressionKind::Aggregate) {
    if (known->insert(canonicalText(*expression)).second)
      calls->push_back(static_cast<const AggregateCall*>(expression.get()));
    return;
  }
  for (const ExpressionPtr& child : expression->children()) collectCalls(child, known, calls);
}

OperatorColumns columnsOf(const LogicalAggregate& aggregate) {
  OperatorColumns columns;
  columns.input = aggregate.child()->output();
  std::set<std::string> known;
  std::vector<const AggregateCall*> calls;
  for (const ExpressionPtr& result : aggregate.results()) collectCalls(result, &known, &calls);
  for (const AggregateCall* call : calls) {
    std::set<std::string>& paths = columns.arguments.emplace_back();
    for (const ExpressionPtr& argument : call->arguments()) collectPaths(*argument, &paths);
  }
  return columns;
}

OperatorColumns columnsOf(const LogicalDeduplicate& node) {
  OperatorColumns columns;
  columns.input = node.child()->output();
  for (const AttributePtr& key : node.keys()) columns.keys.push_back(key->name());
  return columns;
}

// The columns of operators, those nearest the sink first: the order of operator ids.
struct Found {
  std::vector<OperatorColumns> aggregates, deduplications;

  void add(const LogicalNode& node) {
    if (node.kind() == LogicalKind::Aggregate && node.isStreaming())
      aggregates.push_back(columnsOf(static_cast<const LogicalAggregate&>(node)));
    if (node.kind() == LogicalKind::Deduplicate && node.isStreaming())
      deduplications.push_back(columnsOf(static_cast<const LogicalDeduplicate&>(node)));
    for (const LogicalPtr& child : node.children()) add(*child);
  }
};

bool has(const std::vector<AttributePtr>& input, const std::string& path) {
  return std::any_of(input.begin(), input.end(), [&](const AttributePtr& column) {
    if (path == column->name()) return true;
    std::string_view rest = path;
    if (!rest.starts_with(column->name())) return false;
    rest.remove_prefix(column->name().size());
    DataTypePtr type = column->type();
    while (rest.starts_with('.') && type->id() == TypeId::Struct) {
      rest.remove_prefix(1);
      const auto& fields = type->fields();
      const auto field = std::find_if(fields.begin(), fields.end(), [&](const StructField& candidate) {
        return rest.starts_with(candidate.name) &&
               (rest.size() == candidate.name.size() || rest[candidate.name.size()] == '.');
      });
      if (field == fields.end()) return false;
      rest.remove_prefix(field->name.size());
      type = field->type;
    }
    return rest.empty();
  });
}

std::string textOf(const std::set<std::string>& columns) {
  std::string text;
  for (const std::string& column : columns) text += (text.empty() ? "" : ", ") + column;
  return text;
}

std::vector<std::set<std::string>> parseArguments(const std::string& text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  try {
    return json.get<std::vector<std::set<std::string>>>();
  } catch (const nlohmann::json::exception&) {
    return {};
  }
}

}  // namespace

std::map<int, OperatorColumns> operatorColumns(const LogicalNode& query, const PhysicalNode& plan) {
  Found found;
  found.add(query);
  std::vector<int> aggregates, deduplications;
  for (const StatefulNode* node : statefulNodes(plan)) {
    const std::string name = node->operatorName();
    if (name == "stateStoreSave" || name == "sessionWindowStateStoreSaveExec")
      aggregates.push_back(node->operatorId());
    if (name == "dedupe" || name == "dedupeWithinWatermark") deduplications.push_back(node->operatorId());
  }
  std::map<int, OperatorColumns> columns;
  const auto assign = [&](const std::vector<int>& ids, std::vector<OperatorColumns>& all) {
    if (ids.size() != all.size()) return;
    for (size_t i = 0; i < ids.size(); ++i) columns[ids[i]] = std::move(all[i]);
  };
  assign(aggregates, found.aggregates);
  assign(deduplications, found.deduplications);
  return columns;
}

std::string formatArguments(const OperatorColumns& columns) {
  // Names come from users: bytes that are no UTF-8 must not throw.
  return nlohmann::json(columns.arguments).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void checkArguments(const std::string& stored, const OperatorColumns& columns) {
  const std::vector<std::set<std::string>> before = parseArguments(stored);
  if (before.size() != columns.arguments.size()) return;
  for (size_t i = 0; i < before.size(); ++i) {
    const std::set<std::string>&was = before[i], &is = columns.arguments[i];
    const auto stays = [&](const std::string& path) {
      return is.contains(path) || !has(columns.input, path);
    };
    if (was.empty() || is.empty() || std::any_of(was.begin(), was.end(), stays)) continue;
    throw Error(
        "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE",
        "Aggregate function " + std::to_string(i + 1) + " of the query has state of the column " +
            textOf(was) + ", and now reads " + textOf(is) +
            ": it would go on with values that are not its own. Undo the change (the order of the functions "
            "counts too), or start with a new checkpoint.",
        {{"storedValueSchema", textOf(was)}, {"newValueSchema", textOf(is)}});
  }
}

void checkKeys(const Schema& stored, const OperatorColumns& columns) {
  const auto isStored = [&](const std::string& name) {
    return std::any_of(stored.fields().begin(), stored.fields().end(),
                       [&](const StructField& field) { return field.name == name; });
  };
  const auto added = std::find_if_not(columns.keys.begin(), columns.keys.end(), isStored);
  if (added == columns.keys.end()) return;
  for (const StructField& field : stored.fields()) {
    if (std::find(columns.keys.begin(), columns.keys.end(), field.name) != columns.keys.end()) continue;
    if (!has(columns.input, field.name)) continue;  // renamed, it may be
    throw Error(
        "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE",
        "The query's deduplication has seen values of the column " + field.name + ", and now compares " +
            *added +
            ": it would take new rows for known ones. Undo the change, or start with a new checkpoint.",
        {{"storedKeySchema", stored.simpleString()}, {"newKeySchema", *added}});
  }
}

}  // namespace thalweg
