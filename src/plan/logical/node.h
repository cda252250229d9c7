// Logical plans: resolved relational operators with typed output columns. Immutable trees, rewritten by copy.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "common/options.h"
#include "connector/table.h"
#include "expr/nodes.h"

namespace thalweg {

class LogicalNode;
using LogicalPtr = std::shared_ptr<const LogicalNode>;

enum class LogicalKind {
  LocalRelation,
  Range,
  TableScan,
  StreamScan,
  Project,
  Filter,
  Aggregate,
  Sort,
  Limit,
  Union,
  Join,
  SubqueryAlias,
  Deduplicate,
  TimeWindow,
  SessionWindow,
  EventTimeWatermark,
  Generate,
  Expand,
  CollectMetrics,
  Repartition,
};

class LogicalNode {
 public:
  virtual ~LogicalNode() = default;
  LogicalKind kind() const { return kind_; }
  const std::vector<LogicalPtr>& children() const { return children_; }
  const LogicalPtr& child() const { return children_[0]; }
  // The columns that come out, in order.
  const std::vector<AttributePtr>& output() const { return output_; }
  bool isStreaming() const;
  virtual LogicalPtr withChildren(std::vector<LogicalPtr> children) const = 0;
  // One line of explain, without the children.
  virtual std::string describe() const = 0;

 protected:
  LogicalNode(LogicalKind kind, std::vector<LogicalPtr> children, std::vector<AttributePtr> output)
      : kind_(kind), children_(std::move(children)), output_(std::move(output)) {}

 private:
  LogicalKind kind_;
  std::vector<LogicalPtr> children_;
  std::vector<AttributePtr> output_;
};

// The visible output as a struct type: a DataFrame's schema.
SchemaPtr schemaOf(const LogicalNode& node);
// The output without hidden columns.
std::vector<AttributePtr> visibleOutput(const LogicalNode& node);
// Fresh columns for a source's schema, those from `visibleColumns` on hidden (−1: none).
std::vector<AttributePtr> attributesOf(const Schema& schema, int visibleColumns = -1);
// The plan with its visible columns alone.
LogicalPtr withoutHiddenColumns(const LogicalPtr& plan);
// A plan as explain prints it: an indented tree of describe() lines.
std::string treeString(const LogicalNode& node);
LogicalPtr transformUp(const LogicalPtr& node, const std::function<LogicalPtr(const LogicalPtr&)>& rewrite);

// Rows in memory: batches of the output's types.
class LogicalLocalRelation final : public LogicalNode {
 public:
  LogicalLocalRelation(std::vector<AttributePtr> output, std::vector<std::shared_ptr<arrow::RecordBatch>> batches);
  const std::vector<std::shared_ptr<arrow::RecordBatch>>& batches() const { return batches_; }
  LogicalPtr withChildren(std::vector<LogicalPtr>) const override;
  std::string describe() const override;

 private:
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches_;
};

// start, start + step, … below (above) end, in `partitions` parts.
class LogicalRange final : public LogicalNode {
 public:
  LogicalRange(int64_t start, int64_t end, int64_t step, int partitions, std::vector<AttributePtr> output);
  int64_t start() const { return start_; }
  int64_t end() const { return end_; }
  int64_t step() const { return step_; }
  int partitions() const { return partitions_; }
  LogicalPtr withChildren(std::vector<LogicalPtr>) const override;
  std::string describe() const override;

 private:
  int64_t start_, end_, step_;
  int partitions_;
};

// One version of a table. `columns[i]` is the table's column behind output i; predicates are hints for skipping files.
class LogicalTableScan final : public LogicalNode {
 public:
  LogicalTableScan(std::shared_ptr<Table> table, std::vector<int> columns, std::vector<AttributePtr> output,
                   std::vector<ScanPredicate> predicates = {});
  const std::shared_ptr<Table>& table() const { return table_; }
  const std::vector<int>& columns() const { return columns_; }
  const std::vector<ScanPredicate>& predicates() const { return predicates_; }
  LogicalPtr withChildren(std::vector<LogicalPtr>) const override;
  std::string describe() const override;

 private:
  std::shared_ptr<Table> table_;
  std::vector<int> columns_;
  std::vector<ScanPredicate> predicates_;
};

// A streaming source, opened by the query that runs it. `sourceIndex` numbers the plan's streaming leaves from the left
// once a query starts (Spark's order of lines in the offset log); −1 before.
struct StreamSourceDefinition {
  std::string format;
  Options options;
  std::optional<std::string> path;
  SchemaPtr userSchema;    // null where the user gave none
  SchemaPtr schema;        // all columns, hidden ones last
  int visibleColumns = 0;
  std::string corruptRecordColumn;  // the session's, when the plan was made
};

class LogicalStreamScan final : public LogicalNode {
 public:
  LogicalStreamScan(std::shared_ptr<const StreamSourceDefinition> source, std::vector<int> columns,
                    std::vector<AttributePtr> output, int sourceIndex = -1);
  const std::shared_ptr<const StreamSourceDefinition>& source() const { return source_; }
  const std::vector<int>& columns() const { return columns_; }
  int sourceIndex() const { return sourceIndex_; }
  LogicalPtr withChildren(std::vector<LogicalPtr>) const override;
  std::string describe() const override;

 private:
  std::shared_ptr<const StreamSourceDefinition> source_;
  std::vector<int> columns_;
  int sourceIndex_;
};

// Each expression is an Attribute or an Alias.
class LogicalProject final : public LogicalNode {
 public:
  LogicalProject(std::vector<ExpressionPtr> expressions, LogicalPtr child);
  const std::vector<ExpressionPtr>& expressions() const { return expressions_; }
  LogicalPtr withChildren(std::vector<LogicalPtr> children) const override;
  std::string describe() const override;

 private:
  std::vector<ExpressionPtr> expressions_;
};

class LogicalFilter final : public LogicalNode {
 public:
  LogicalFilter(ExpressionPtr condition, LogicalPtr child);
  const ExpressionPtr& condition() const { return condition_; }
  LogicalPtr withChildren(std::vector<LogicalPtr> children) const override;
  std::string describe() const override;

 private:
  ExpressionPtr condition_;
};

// Groups by expressions; results are Attributes or Aliases over grouping expressions' attributes and AggregateCalls.
class LogicalAggregate final : public LogicalNode {
 public:
  LogicalAggregate(std::vector<ExpressionPtr> grouping, std::vector<ExpressionPtr> results, LogicalPtr child);
  const std::vector<ExpressionPtr>& grouping() const { return grouping_; }
  const std::vector<ExpressionPtr>& results() const { return results_; }
  LogicalPtr withChildren(std::vector<LogicalPtr> children) const override;
  std::string describe() const override;

 private:
  std::vector<ExpressionPtr> grouping_;
  std::vector<ExpressionPtr> results_;
};

// `orders` are SortOrders. A sort that is not global orders each partition alone.
class LogicalSort final : public LogicalNode {
 public:
  LogicalSort(std::vector<ExpressionPtr> orders, bool global, LogicalPtr child);
  const std::vector<ExpressionPtr>& orders() const { return orders_; }
  bool global() const { return global_; }
  LogicalPtr withChildren(std::vector<LogicalPtr> children) const override;
  std::string describe() const override;

 private:
  std::vector<ExpressionPtr> orders_;
  bool global_;
};

// Skips `offset` rows, then passes at most `limit` (−1: all). `tail`: the last `limit` rows instead.
class LogicalLimit final : public LogicalNode {
 public:
  LogicalLimit(int64_t limit, int64_t offset, bool tail, LogicalPtr child);
  int64_t limit() const { return limit_; }
  int64_t offset() const { return offset_; }
  bool tail() const { return tail_; }
  LogicalPtr withChildren(std::vector<LogicalPtr> children) const override;
  std::string describe() const override;

 private:
  int64_t limit_, offset_;
  bool tail_;
};

// All rows of all children, whose types are equal column by column.
class LogicalUnion final : public LogicalNode {
 public:
  explicit LogicalUnion(std::vector<LogicalPtr> children);
  LogicalPtr withChildren(std::vector<LogicalPtr> children) const override;
  std::string describe() const override { return "Union"; }
};

// Gives the child's columns a name to be qualified with.
class LogicalSubqueryAlias final : public LogicalNode {
 public:
  LogicalSubqueryAlias(std::vector<std::string> name, LogicalPtr child);
  LogicalPtr withChildren(std::vector<LogicalPtr> children) const override;
  std::string describe() const override;

 private:
  std::vector<std::string> name_;
};

// One row for each value of the key columns (the first that comes). `withinWatermark`: of a stream alone, and only among the rows
// that come until the watermark has passed the first one's event time and the delay.
class LogicalDeduplicate final : public LogicalNode {
 public:
  LogicalDeduplicate(std::vector<AttributePtr> keys, LogicalPtr child, bool withinWatermark = false);
  const std::vector<AttributePtr>& keys() const { return keys_; }
  bool withinWatermark() const { return withinWatermark_; }
  LogicalPtr withChildren(std::vector<LogicalPtr> children) const override;
  std::string describe() const override;

 private:
  std::vector<AttributePtr> keys_;
  bool withinWatermark_;
};

}  // namespace thalweg
