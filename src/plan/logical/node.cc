#include "plan/logical/node.h"

#include <arrow/record_batch.h>

#include "common/secret.h"

namespace thalweg {
namespace {

AttributePtr attributeOf(const ExpressionPtr& named) {
  if (named->kind() == ExpressionKind::Attribute) return std::static_pointer_cast<const Attribute>(named);
  return static_cast<const Alias&>(*named).toAttribute();
}

std::vector<AttributePtr> attributesOfNamed(const std::vector<ExpressionPtr>& expressions) {
  std::vector<AttributePtr> output;
  for (const ExpressionPtr& expression : expressions) output.push_back(attributeOf(expression));
  return output;
}

template <typename T>
std::string joined(const std::vector<T>& expressions) {
  std::string text = "[";
  for (size_t i = 0; i < expressions.size(); ++i) text += (i ? ", " : "") + expressions[i]->toString();
  return text + "]";
}

void appendTree(const LogicalNode& node, int depth, std::string* out) {
  if (depth > 0) *out += std::string(static_cast<size_t>(depth - 1) * 3, ' ') + "+- ";
  *out += node.describe() + "\n";
  for (const LogicalPtr& child : node.children()) appendTree(*child, depth + 1, out);
}

std::vector<AttributePtr> unionOutput(const std::vector<LogicalPtr>& children) {
  std::vector<AttributePtr> output;
  for (size_t i = 0; i < children[0]->output().size(); ++i) {
    bool nullable = false;
    for (const LogicalPtr& child : children) nullable = nullable || child->output()[i]->nullable();
    output.push_back(children[0]->output()[i]->withNullable(nullable));
  }
  return output;
}

std::vector<AttributePtr> qualified(const std::vector<AttributePtr>& output, const std::vector<std::string>& name) {
  std::vector<AttributePtr> result;
  for (const AttributePtr& attribute : output) result.push_back(attribute->withQualifier(name));
  return result;
}

}  // namespace

bool LogicalNode::isStreaming() const {
  if (kind_ == LogicalKind::StreamScan) return true;
  for (const LogicalPtr& child : children_) {
    if (child->isStreaming()) return true;
  }
  return false;
}

SchemaPtr schemaOf(const LogicalNode& node) {
  std::vector<StructField> fields;
  for (const AttributePtr& attribute : visibleOutput(node)) {
    fields.push_back({attribute->name(), attribute->type(), attribute->nullable(), attribute->metadata()});
  }
  return DataType::structOf(std::move(fields));
}

std::vector<AttributePtr> visibleOutput(const LogicalNode& node) {
  std::vector<AttributePtr> visible;
  for (const AttributePtr& attribute : node.output()) {
    if (!attribute->hidden()) visible.push_back(attribute);
  }
  return visible;
}

std::vector<AttributePtr> attributesOf(const Schema& schema, int visibleColumns) {
  std::vector<AttributePtr> output;
  for (const StructField& field : schema.fields()) {
    const bool hidden = visibleColumns >= 0 && static_cast<int>(output.size()) >= visibleColumns;
    output.push_back(std::make_shared<Attribute>(field.name, field.type, field.nullable, nextExpressionId(),
                                                 std::vector<std::string>{}, field.metadata, hidden));
  }
  return output;
}

LogicalPtr withoutHiddenColumns(const LogicalPtr& plan) {
  const std::vector<AttributePtr> visible = visibleOutput(*plan);
  if (visible.size() == plan->output().size()) return plan;
  return std::make_shared<LogicalProject>(std::vector<ExpressionPtr>(visible.begin(), visible.end()), plan);
}

std::string treeString(const LogicalNode& node) {
  std::string text;
  appendTree(node, 0, &text);
  return text;
}

LogicalPtr transformUp(const LogicalPtr& node, const std::function<LogicalPtr(const LogicalPtr&)>& rewrite) {
  std::vector<LogicalPtr> children;
  bool changed = false;
  for (const LogicalPtr& child : node->children()) {
    children.push_back(transformUp(child, rewrite));
    changed = changed || children.back() != child;
  }
  return rewrite(changed ? node->withChildren(std::move(children)) : node);
}

LogicalLocalRelation::LogicalLocalRelation(std::vector<AttributePtr> output,
                                           std::vector<std::shared_ptr<arrow::RecordBatch>> batches)
    : LogicalNode(LogicalKind::LocalRelation, {}, std::move(output)), batches_(std::move(batches)) {}

LogicalPtr LogicalLocalRelation::withChildren(std::vector<LogicalPtr>) const {
  return std::make_shared<LogicalLocalRelation>(output(), batches_);
}

std::string LogicalLocalRelation::describe() const { return "LocalRelation " + joined(output()); }

LogicalRange::LogicalRange(int64_t start, int64_t end, int64_t step, int partitions, std::vector<AttributePtr> output)
    : LogicalNode(LogicalKind::Range, {}, std::move(output)), start_(start), end_(end), step_(step), partitions_(partitions) {}

LogicalPtr LogicalRange::withChildren(std::vector<LogicalPtr>) const {
  return std::make_shared<LogicalRange>(start_, end_, step_, partitions_, output());
}

std::string LogicalRange::describe() const {
  return "Range (" + std::to_string(start_) + ", " + std::to_string(end_) + ", step=" + std::to_string(step_) + ")";
}

LogicalTableScan::LogicalTableScan(std::shared_ptr<Table> table, std::vector<int> columns, std::vector<AttributePtr> output,
                                   std::vector<ExpressionPtr> conditions)
    : LogicalNode(LogicalKind::TableScan, {}, std::move(output)),
      table_(std::move(table)),
      columns_(std::move(columns)),
      conditions_(std::move(conditions)) {}

LogicalPtr LogicalTableScan::withChildren(std::vector<LogicalPtr>) const {
  return std::make_shared<LogicalTableScan>(table_, columns_, output(), conditions_);
}

std::string LogicalTableScan::describe() const { return "Scan " + table_->description() + " " + joined(output()); }

LogicalStreamScan::LogicalStreamScan(std::shared_ptr<const StreamSourceDefinition> source, std::vector<int> columns,
                                     std::vector<AttributePtr> output, int sourceIndex)
    : LogicalNode(LogicalKind::StreamScan, {}, std::move(output)),
      source_(std::move(source)),
      columns_(std::move(columns)),
      sourceIndex_(sourceIndex) {}

LogicalPtr LogicalStreamScan::withChildren(std::vector<LogicalPtr>) const {
  return std::make_shared<LogicalStreamScan>(source_, columns_, output(), sourceIndex_);
}

std::string LogicalStreamScan::describe() const { return "StreamScan " + source_->format + " " + joined(output()); }

LogicalProject::LogicalProject(std::vector<ExpressionPtr> expressions, LogicalPtr child)
    : LogicalNode(LogicalKind::Project, {std::move(child)}, attributesOfNamed(expressions)), expressions_(std::move(expressions)) {}

LogicalPtr LogicalProject::withChildren(std::vector<LogicalPtr> children) const {
  return std::make_shared<LogicalProject>(expressions_, std::move(children[0]));
}

std::string LogicalProject::describe() const { return "Project " + joined(expressions_); }

LogicalFilter::LogicalFilter(ExpressionPtr condition, LogicalPtr child)
    : LogicalNode(LogicalKind::Filter, {child}, child->output()), condition_(std::move(condition)) {}

LogicalPtr LogicalFilter::withChildren(std::vector<LogicalPtr> children) const {
  return std::make_shared<LogicalFilter>(condition_, std::move(children[0]));
}

std::string LogicalFilter::describe() const { return "Filter " + condition_->toString(); }

LogicalAggregate::LogicalAggregate(std::vector<ExpressionPtr> grouping, std::vector<ExpressionPtr> results, LogicalPtr child)
    : LogicalNode(LogicalKind::Aggregate, {std::move(child)}, attributesOfNamed(results)),
      grouping_(std::move(grouping)),
      results_(std::move(results)) {}

LogicalPtr LogicalAggregate::withChildren(std::vector<LogicalPtr> children) const {
  return std::make_shared<LogicalAggregate>(grouping_, results_, std::move(children[0]));
}

std::string LogicalAggregate::describe() const { return "Aggregate " + joined(grouping_) + ", " + joined(results_); }

LogicalSort::LogicalSort(std::vector<ExpressionPtr> orders, bool global, LogicalPtr child)
    : LogicalNode(LogicalKind::Sort, {child}, child->output()), orders_(std::move(orders)), global_(global) {}

LogicalPtr LogicalSort::withChildren(std::vector<LogicalPtr> children) const {
  return std::make_shared<LogicalSort>(orders_, global_, std::move(children[0]));
}

std::string LogicalSort::describe() const { return "Sort " + joined(orders_) + (global_ ? ", true" : ", false"); }

LogicalLimit::LogicalLimit(int64_t limit, int64_t offset, bool tail, LogicalPtr child)
    : LogicalNode(LogicalKind::Limit, {child}, child->output()), limit_(limit), offset_(offset), tail_(tail) {}

LogicalPtr LogicalLimit::withChildren(std::vector<LogicalPtr> children) const {
  return std::make_shared<LogicalLimit>(limit_, offset_, tail_, std::move(children[0]));
}

std::string LogicalLimit::describe() const {
  return (tail_ ? "Tail " : "Limit ") + std::to_string(limit_) + (offset_ ? " offset " + std::to_string(offset_) : "");
}

LogicalUnion::LogicalUnion(std::vector<LogicalPtr> children)
    : LogicalNode(LogicalKind::Union, children, unionOutput(children)) {}

LogicalPtr LogicalUnion::withChildren(std::vector<LogicalPtr> children) const {
  return std::make_shared<LogicalUnion>(std::move(children));
}

LogicalSubqueryAlias::LogicalSubqueryAlias(std::vector<std::string> name, LogicalPtr child)
    : LogicalNode(LogicalKind::SubqueryAlias, {child}, qualified(child->output(), name)), name_(std::move(name)) {}

LogicalPtr LogicalSubqueryAlias::withChildren(std::vector<LogicalPtr> children) const {
  return std::make_shared<LogicalSubqueryAlias>(name_, std::move(children[0]));
}

std::string LogicalSubqueryAlias::describe() const { return "SubqueryAlias " + name_.back(); }

LogicalDeduplicate::LogicalDeduplicate(std::vector<AttributePtr> keys, LogicalPtr child, bool withinWatermark)
    : LogicalNode(LogicalKind::Deduplicate, {child}, child->output()), keys_(std::move(keys)), withinWatermark_(withinWatermark) {}

LogicalPtr LogicalDeduplicate::withChildren(std::vector<LogicalPtr> children) const {
  return std::make_shared<LogicalDeduplicate>(keys_, std::move(children[0]), withinWatermark_);
}

std::string LogicalDeduplicate::describe() const { return (withinWatermark_ ? "DeduplicateWithinWatermark " : "Deduplicate ") + joined(keys_); }

}  // namespace thalweg
