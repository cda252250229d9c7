// Logical operators that make several rows of one: generators and grouping sets.
#pragma once

#include "expr/generator.h"
#include "plan/logical/node.h"

namespace thalweg {

// The rows that a generator makes of each row. Output: columns of the child, all until pruning leaves some,
// then the generator's. (What is kept is repeated for each row made: an array that is taken apart had better
// not be.)
class LogicalGenerate final : public LogicalNode {
 public:
  LogicalGenerate(std::shared_ptr<const GeneratorCall> generator, std::vector<AttributePtr> generated,
                  LogicalPtr child);
  LogicalGenerate(std::shared_ptr<const GeneratorCall> generator, std::vector<AttributePtr> kept,
                  std::vector<AttributePtr> generated, LogicalPtr child);
  const std::vector<AttributePtr>& kept() const { return kept_; }
  const std::shared_ptr<const GeneratorCall>& generator() const { return generator_; }
  const std::vector<AttributePtr>& generated() const { return generated_; }
  LogicalPtr withChildren(std::vector<LogicalPtr> children) const override;
  std::string describe() const override;

 private:
  std::shared_ptr<const GeneratorCall> generator_;
  std::vector<AttributePtr> kept_, generated_;
};

// What the rows of several groupings at once are grouped by.
struct GroupingSets {
  std::vector<ExpressionPtr> expressions;  // over the child
  std::vector<std::vector<size_t>> sets;   // of positions in `expressions`, ascending
  std::vector<AttributePtr> columns;       // the expressions' values; null where a row's set leaves one out
  AttributePtr id;        // a bit an expression, the first one's highest: 1 where it is left out
  AttributePtr position;  // a set's number; null unless sets are equal

  // Names and numbers the columns that an expand over `child` adds. Throws Error GROUPING_SIZE_LIMIT_EXCEEDED
  // above 64.
  static GroupingSets of(std::vector<ExpressionPtr> expressions, std::vector<std::vector<size_t>> sets);
  // `columns`, then the others: what to group by.
  std::vector<AttributePtr> added() const;
  // An expression over the groups: grouping expressions become columns, grouping() and grouping_id() what the
  // id says. What aggregate functions take stays. Throws Error GROUPING_COLUMN_MISMATCH and
  // GROUPING_ID_COLUMN_MISMATCH.
  ExpressionPtr overGroups(const ExpressionPtr& expression) const;
};

// Each row once for each grouping set. Output: the child's columns, then those that are added.
class LogicalExpand final : public LogicalNode {
 public:
  LogicalExpand(GroupingSets grouping, LogicalPtr child);
  const GroupingSets& grouping() const { return grouping_; }
  // The rows' columns, a list for each set.
  std::vector<std::vector<ExpressionPtr>> projections() const;
  LogicalPtr withChildren(std::vector<LogicalPtr> children) const override;
  std::string describe() const override;

 private:
  GroupingSets grouping_;
};

}  // namespace thalweg
