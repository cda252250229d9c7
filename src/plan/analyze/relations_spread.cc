// How rows are spread over tasks: coalesce(), repartition(), repartitionByRange(), and the hints for them.
#include <limits>

#include <spark/connect/relations.pb.h>

#include "common/error.h"
#include "common/options.h"
#include "plan/analyze/relations.h"
#include "plan/logical/repartition.h"

namespace thalweg {
namespace {

namespace proto = spark::connect;

int positive(int64_t numPartitions) {
  if (numPartitions > 0 && numPartitions <= std::numeric_limits<int>::max())
    return static_cast<int>(numPartitions);
  const std::string number = std::to_string(numPartitions);
  throw Error("INVALID_LIMIT_LIKE_EXPRESSION.IS_NEGATIVE",
              "Rows cannot be spread over " + number + " partitions: give 1 or more.",
              {{"name", "number of partitions"}, {"expr", number}, {"v", number}});
}

std::optional<int64_t> integerOf(const proto::Expression& message) {
  if (!message.has_literal()) return std::nullopt;
  const auto& literal = message.literal();
  if (literal.has_integer()) return literal.integer();
  if (literal.has_long_()) return literal.long_();
  if (literal.has_short_()) return literal.short_();
  if (literal.has_byte()) return literal.byte();
  return std::nullopt;
}

Error badHint(const std::string& name, const std::string& what) {
  return Error("_LEGACY_ERROR_TEMP_1048", "The hint " + name + " takes " + what + ".", {{"hintName", name}});
}

// A column that a hint names; DataFrame.hint sends names as texts.
proto::Expression columnOf(const proto::Expression& parameter) {
  proto::Expression column = parameter;
  if (parameter.has_literal() && parameter.literal().has_string())
    column.mutable_unresolved_attribute()->set_unparsed_identifier(parameter.literal().string());
  return column;
}

}  // namespace

LogicalPtr RelationAnalyzer::spreadRows(RowSpread::Kind kind, int numPartitions,
                                        std::vector<ExpressionPtr> keys, const LogicalPtr& child) const {
  RowSpread spread{kind, numPartitions, context_.shufflePartitions, 0, std::move(keys)};
  return std::make_shared<LogicalRepartition>(std::move(spread), child);
}

LogicalPtr RelationAnalyzer::repartition(const proto::Relation& relation) {
  const auto& message = relation.repartition();
  const LogicalPtr child = analyze(message.input());
  return spreadRows(message.shuffle() ? RowSpread::Kind::RoundRobin : RowSpread::Kind::Merged,
                    positive(message.num_partitions()), {}, child);
}

// By SortOrders into ranges, by other expressions by their hash; by none row by row.
LogicalPtr RelationAnalyzer::repartitionByExpression(const proto::Relation& relation) {
  const auto& message = relation.repartition_by_expression();
  const LogicalPtr child = analyze(message.input());
  const Scope scope = scopeOf(*child);
  const ExpressionAnalyzer expressions(scope, context_);
  std::vector<ExpressionPtr> keys;
  bool ranged = false;
  for (const auto& expression : message.partition_exprs()) {
    keys.push_back(expressions.resolve(expression));
    ranged = ranged || keys.back()->kind() == ExpressionKind::SortOrder;
  }
  for (ExpressionPtr& key : keys) {
    if (ranged && key->kind() != ExpressionKind::SortOrder)
      key = sortOrder(key, /*ascending=*/true, std::nullopt);
  }
  const RowSpread::Kind kind = keys.empty() ? RowSpread::Kind::RoundRobin
                               : ranged     ? RowSpread::Kind::Ranged
                                            : RowSpread::Kind::Hashed;
  return spreadRows(kind, message.has_num_partitions() ? positive(message.num_partitions()) : 0,
                    std::move(keys), child);
}

// Hints that nobody knows are left aside, as in Spark.
LogicalPtr RelationAnalyzer::hint(const proto::Relation& relation) {
  const auto& message = relation.hint();
  const LogicalPtr child = analyze(message.input());
  const auto is = [&](const char* name) { return equalsIgnoreCase(message.name(), name); };
  const bool coalesce = is("COALESCE");
  const bool ranged = is("REPARTITION_BY_RANGE");
  const bool rebalance = is("REBALANCE");
  if (!coalesce && !ranged && !rebalance && !is("REPARTITION")) return child;
  int first = 0;
  int numPartitions = 0;
  if (message.parameters_size() > 0) {
    if (const auto number = integerOf(message.parameters(0))) {
      numPartitions = positive(*number);
      first = 1;
    }
  }
  if (coalesce) {
    if (numPartitions == 0 || message.parameters_size() != 1)
      throw badHint(message.name(), "a number of partitions");
    return spreadRows(RowSpread::Kind::Merged, numPartitions, {}, child);
  }
  const Scope scope = scopeOf(*child);
  const ExpressionAnalyzer expressions(scope, context_);
  std::vector<ExpressionPtr> keys;
  for (int i = first; i < message.parameters_size(); ++i) {
    const ExpressionPtr key = expressions.resolve(columnOf(message.parameters(i)));
    if (key->kind() == ExpressionKind::Literal)
      throw badHint(message.name(), "a number of partitions, then columns");
    keys.push_back(ranged ? sortOrder(key, /*ascending=*/true, std::nullopt) : key);
  }
  if (ranged && keys.empty())
    throw badHint(message.name(), "columns, a number of partitions may come before them");
  // REBALANCE says how many partitions there are to begin with; the rows' size says how many are left.
  if (rebalance) numPartitions = 0;
  const RowSpread::Kind kind = keys.empty() ? RowSpread::Kind::RoundRobin
                               : ranged     ? RowSpread::Kind::Ranged
                                            : RowSpread::Kind::Hashed;
  return spreadRows(kind, numPartitions, std::move(keys), child);
}

}  // namespace thalweg
