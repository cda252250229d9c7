#include "plan/analyze/analyzer.h"

#include <spark/connect/relations.pb.h>

#include "common/error.h"
#include "plan/analyze/relations.h"

namespace thalweg {
namespace {

namespace proto = spark::connect;

// Each level of a plan costs a few stack frames here and in every later rule.
constexpr int kMaxDepth = 1000;

int notNegative(const std::string& name, int rows) {
  if (rows >= 0) return rows;
  throw Error("INVALID_LIMIT_LIKE_EXPRESSION.IS_NEGATIVE",
              "The " + name + " of " + std::to_string(rows) + " rows is negative; give 0 or more.",
              {{"name", name}, {"expr", std::to_string(rows)}, {"v", std::to_string(rows)}});
}

}  // namespace

LogicalPtr analyzeRelation(const proto::Relation& relation, const AnalyzerContext& context) {
  return withoutHiddenColumns(RelationAnalyzer(context).analyze(relation));
}

LogicalPtr RelationAnalyzer::analyze(const proto::Relation& relation) {
  if (++depth_ > kMaxDepth) {
    throw Error("CONNECT_INVALID_PLAN.TOO_DEEP", "The plan is nested more than " + std::to_string(kMaxDepth) + " levels deep.");
  }
  LogicalPtr node = analyzeKind(relation);
  --depth_;
  if (relation.has_common() && relation.common().has_plan_id()) planOutputs_[relation.common().plan_id()] = {node->output()};
  return node;
}

LogicalPtr RelationAnalyzer::analyzeKind(const proto::Relation& relation) {
  switch (relation.rel_type_case()) {
    case proto::Relation::kRead: return read(relation);
    case proto::Relation::kLocalRelation: return localRelation(relation.local_relation().data(), relation.local_relation().schema());
    case proto::Relation::kCachedLocalRelation:
    case proto::Relation::kChunkedCachedLocalRelation: return cachedLocalRelation(relation);
    case proto::Relation::kRange: return range(relation);
    case proto::Relation::kSql: return sqlText(relation);
    case proto::Relation::kProject: return project(relation);
    case proto::Relation::kFilter: return filter(relation);
    case proto::Relation::kWithColumns: return withColumns(relation);
    case proto::Relation::kWithColumnsRenamed: return withColumnsRenamed(relation);
    case proto::Relation::kDrop: return drop(relation);
    case proto::Relation::kToDf: return toDf(relation);
    case proto::Relation::kToSchema: return toSchema(relation);
    case proto::Relation::kSubqueryAlias: return subqueryAlias(relation);
    case proto::Relation::kAggregate: return aggregate(relation);
    case proto::Relation::kDeduplicate: return deduplicate(relation);
    case proto::Relation::kSetOp: return setOperation(relation);
    case proto::Relation::kSort: return sort(relation);
    case proto::Relation::kLimit:
      return std::make_shared<LogicalLimit>(notNegative("limit", relation.limit().limit()), 0, false, analyze(relation.limit().input()));
    case proto::Relation::kOffset:
      return std::make_shared<LogicalLimit>(-1, notNegative("offset", relation.offset().offset()), false, analyze(relation.offset().input()));
    case proto::Relation::kTail:
      return std::make_shared<LogicalLimit>(notNegative("tail", relation.tail().limit()), 0, true, analyze(relation.tail().input()));
    case proto::Relation::kShowString: return showString(relation);
    case proto::Relation::kRepartition:
      return repartition(relation);
    case proto::Relation::kRepartitionByExpression:
      return repartitionByExpression(relation);
    case proto::Relation::kHint:
      return hint(relation);
    case proto::Relation::kWithRelations: return withRelations(relation);
    case proto::Relation::kExtension: return extension(relation);
    case proto::Relation::kUnresolvedTableValuedFunction: return tableFunction(relation);
    case proto::Relation::kWithWatermark: return withWatermark(relation);
    case proto::Relation::kCollectMetrics: return collectMetrics(relation);
    case proto::Relation::kJoin: return join(relation.join());
    case proto::Relation::kLateralJoin: return lateralJoin(relation.lateral_join());
    case proto::Relation::kAsOfJoin: throw unsupported("An as-of join");
    case proto::Relation::kCatalog: return context_.catalogQuery(relation.catalog());
    case proto::Relation::kSample:
      if (analyze(relation.sample().input())->isStreaming()) {
        throw Error("_LEGACY_ERROR_TEMP_3102", "A stream cannot be sampled.", {{"msg", "sample"}});
      }
      throw unsupported("sample");
    case proto::Relation::REL_TYPE_NOT_SET:
      throw Error("CONNECT_INVALID_PLAN.RELATION_NOT_SET", "The plan has a relation of no kind.");
    default:
      throw unsupported("A relation of this kind (" +
                        std::string(relation.GetDescriptor()->FindFieldByNumber(relation.rel_type_case())->name()) + ")");
  }
}

}  // namespace thalweg
