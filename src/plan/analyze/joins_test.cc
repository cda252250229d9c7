// Joins through the analyzer: the columns that come out, whose names find them, and what is refused. Answers
// are Spark's.
#include <gtest/gtest.h>
#include <spark/connect/relations.pb.h>

#include "common/error.h"
#include "plan/analyze/analyzer.h"
#include "sql/parser.h"

namespace thalweg {
namespace {

namespace proto = spark::connect;

// l(id int not null, x string), r(id int not null, y string), each one plan however often it is named.
LogicalPtr relationNamed(const std::vector<std::string>& name, const Options&, bool) {
  const auto make = [](const char* second) {
    const auto schema = DataType::structOf({{"id", intType(), false}, {second, stringType(), false}});
    return std::make_shared<LogicalLocalRelation>(attributesOf(*schema),
                                                  std::vector<std::shared_ptr<arrow::RecordBatch>>{});
  };
  static const LogicalPtr left = make("x"), right = make("y");
  const LogicalPtr plan = name[0] == "l" ? left : name[0] == "r" ? right : nullptr;
  return plan ? std::make_shared<LogicalSubqueryAlias>(name, plan) : nullptr;
}

// The columns as "name:type", "!" for those that are never null; or the condition that is raised.
std::string answer(const proto::Relation& relation) {
  AnalyzerContext context;
  context.findRelation = relationNamed;
  try {
    std::string text;
    const SchemaPtr schema = schemaOf(*analyzeRelation(relation, context));
    for (const StructField& field : schema->fields()) {
      text += (text.empty() ? "" : " ") + field.name + ":" + field.type->simpleString() +
              (field.nullable ? "" : "!");
    }
    return text;
  } catch (const Error& error) {
    return error.condition();
  }
}
std::string answer(const std::string& query) {
  proto::Relation relation;
  sql::parseQuery(query, &relation);
  return answer(relation);
}

TEST(Joins, ColumnsOfBothSidesComeOutNullableWhereTheirSideMayBeMissing) {
  EXPECT_EQ(answer("SELECT * FROM l JOIN r ON l.id = r.id"), "id:int! x:string! id:int! y:string!");
  EXPECT_EQ(answer("SELECT * FROM l LEFT JOIN r ON l.id = r.id"), "id:int! x:string! id:int y:string");
  EXPECT_EQ(answer("SELECT * FROM l RIGHT JOIN r ON l.id = r.id"), "id:int x:string id:int! y:string!");
  EXPECT_EQ(answer("SELECT * FROM l FULL JOIN r ON l.id = r.id"), "id:int x:string id:int y:string");
  EXPECT_EQ(answer("SELECT * FROM l LEFT SEMI JOIN r ON l.id = r.id"), "id:int! x:string!");
  EXPECT_EQ(answer("SELECT * FROM l ANTI JOIN r ON l.id = r.id"), "id:int! x:string!");
  EXPECT_EQ(answer("SELECT * FROM l, r"), "id:int! x:string! id:int! y:string!");
  EXPECT_EQ(answer("SELECT r.id FROM l LEFT JOIN r ON l.id = r.id"), "id:int");
}

TEST(Joins, UsingAndNaturalGiveTheKeysOnceAndFirst) {
  EXPECT_EQ(answer("SELECT * FROM l JOIN r USING (id)"), "id:int! x:string! y:string!");
  EXPECT_EQ(answer("SELECT * FROM l NATURAL JOIN r"), "id:int! x:string! y:string!");
  EXPECT_EQ(answer("SELECT * FROM l LEFT JOIN r USING (id)"), "id:int! x:string! y:string");
  EXPECT_EQ(answer("SELECT * FROM l RIGHT JOIN r USING (id)"), "id:int! x:string y:string!");
  EXPECT_EQ(answer("SELECT * FROM l FULL JOIN r USING (id)"), "id:int x:string y:string");
  EXPECT_EQ(answer("SELECT * FROM l LEFT SEMI JOIN r USING (id)"), "id:int! x:string!");
  EXPECT_EQ(answer("SELECT * FROM l NATURAL JOIN (SELECT 1 AS z)"), "id:int! x:string! z:int!");
  EXPECT_EQ(answer("SELECT * FROM l JOIN r USING (nope)"), "UNRESOLVED_USING_COLUMN_FOR_JOIN");
  EXPECT_EQ(answer("SELECT * FROM l JOIN r USING (x)"), "UNRESOLVED_USING_COLUMN_FOR_JOIN");
}

TEST(Joins, AHiddenKeyIsFoundByItsSidesNameUntilAnAliasTakesItAway) {
  EXPECT_EQ(answer("SELECT id, l.id a, r.id b FROM l RIGHT JOIN r USING (id)"), "id:int! a:int b:int!");
  EXPECT_EQ(answer("SELECT r.id FROM l LEFT JOIN r USING (id)"), "id:int");
  EXPECT_EQ(answer("SELECT l.id a, r.id b, id FROM l FULL JOIN r USING (id)"), "a:int b:int id:int");
  EXPECT_EQ(answer("SELECT x FROM l JOIN r USING (id) WHERE r.id > 1"), "x:string!");
  EXPECT_EQ(answer("SELECT r.* FROM l JOIN r USING (id)"), "y:string! id:int!");
  EXPECT_EQ(answer("SELECT t.* FROM (SELECT * FROM l JOIN r USING (id)) t"), "id:int! x:string! y:string!");
  EXPECT_EQ(answer("SELECT t.* FROM (l JOIN r USING (id)) t"), "id:int! x:string! y:string!");
}

TEST(Joins, NamesOfBothSidesAreAmbiguous) {
  EXPECT_EQ(answer("SELECT id FROM l JOIN r ON l.id = r.id"), "AMBIGUOUS_REFERENCE");
  EXPECT_EQ(answer("SELECT x FROM l JOIN r ON id = 1"), "AMBIGUOUS_REFERENCE");
  EXPECT_EQ(answer("SELECT l.id, r.id FROM l JOIN r ON l.id = r.id"), "id:int! id:int!");
  EXPECT_EQ(answer("SELECT x, y FROM l JOIN r ON x = y AND l.id < r.id"), "x:string! y:string!");
}

TEST(Joins, APlanIsJoinedWithItself) {
  EXPECT_EQ(answer("SELECT a.id, b.x FROM l a LEFT JOIN l b ON a.id = b.id"), "id:int! x:string");
  EXPECT_EQ(answer("SELECT a.*, c.* FROM l a JOIN l b ON a.id = b.id JOIN l c USING (id)"),
            "id:int! x:string! x:string! id:int!");
  EXPECT_EQ(answer("WITH w AS (SELECT id FROM l) SELECT * FROM w p FULL JOIN w q ON p.id = q.id"),
            "id:int id:int");
}

TEST(Joins, ConditionsAreBooleansOverRows) {
  EXPECT_EQ(answer("SELECT * FROM l JOIN r ON x"), "JOIN_CONDITION_IS_NOT_BOOLEAN_TYPE");
  EXPECT_EQ(answer("SELECT l.id FROM l JOIN r ON l.id = max(r.id)"), "UNSUPPORTED_EXPR_FOR_OPERATOR");
  EXPECT_EQ(answer("SELECT x FROM l JOIN r ON nope = 1"), "UNRESOLVED_COLUMN.WITH_SUGGESTION");
  EXPECT_EQ(answer("SELECT x FROM l JOIN r ON null"), "x:string!");
  EXPECT_EQ(answer("SELECT x FROM l JOIN LATERAL (SELECT 1) ON true"), "UNSUPPORTED_FEATURE.THALWEG");
}

// df.join(other, df["id"] == other["id"]): columns with plan ids.
class PlanIds : public testing::Test {
 protected:
  static void readTable(const std::string& name, int64_t planId, proto::Relation* relation) {
    relation->mutable_common()->set_plan_id(planId);
    relation->mutable_read()->mutable_named_table()->set_unparsed_identifier(name);
  }
  static void column(const std::string& name, int64_t planId, proto::Expression* expression) {
    expression->mutable_unresolved_attribute()->set_unparsed_identifier(name);
    expression->mutable_unresolved_attribute()->set_plan_id(planId);
  }
  // left[leftName] == right[rightName] under a select of `selected` (a column and the plan that it is of).
  static proto::Relation joined(const std::string& left, int64_t leftId, const std::string& right,
                                int64_t rightId, const std::vector<std::pair<std::string, int64_t>>& selected,
                                proto::Join::JoinType type) {
    proto::Relation relation;
    auto* join = relation.mutable_project()->mutable_input()->mutable_join();
    readTable(left, leftId, join->mutable_left());
    readTable(right, rightId, join->mutable_right());
    join->set_join_type(type);
    auto* condition = join->mutable_join_condition()->mutable_unresolved_function();
    condition->set_function_name("==");
    column("id", leftId, condition->add_arguments());
    column("id", rightId, condition->add_arguments());
    for (const auto& [name, planId] : selected)
      column(name, planId, relation.mutable_project()->add_expressions());
    return relation;
  }
};

TEST_F(PlanIds, FindTheirSide) {
  EXPECT_EQ(
      answer(joined("l", 1, "r", 2, {{"id", 1}, {"id", 2}, {"y", 2}}, proto::Join::JOIN_TYPE_LEFT_OUTER)),
      "id:int! id:int y:string");
  EXPECT_EQ(answer(joined("l", 1, "l", 2, {{"x", 1}, {"x", 2}}, proto::Join::JOIN_TYPE_LEFT_OUTER)),
            "x:string! x:string");
}

TEST_F(PlanIds, OfADataFrameOnBothSidesAreAmbiguous) {
  EXPECT_EQ(answer(joined("l", 1, "l", 1, {{"x", 1}}, proto::Join::JOIN_TYPE_INNER)),
            "AMBIGUOUS_COLUMN_REFERENCE");
}

// df.join(df.limit(1), df["id"] > 0): the side that is the DataFrame itself comes before the one that is made
// of it.
TEST_F(PlanIds, OfASideItselfAreThatSides) {
  proto::Relation relation;
  auto* join = relation.mutable_join();
  readTable("l", 1, join->mutable_left());
  join->mutable_right()->mutable_common()->set_plan_id(2);
  join->mutable_right()->mutable_limit()->set_limit(1);
  readTable("l", 1, join->mutable_right()->mutable_limit()->mutable_input());
  join->set_join_type(proto::Join::JOIN_TYPE_INNER);
  auto* condition = join->mutable_join_condition()->mutable_unresolved_function();
  condition->set_function_name("==");
  column("id", 1, condition->add_arguments());
  column("id", 2, condition->add_arguments());
  EXPECT_EQ(answer(relation), "id:int! x:string! id:int! x:string!");
  proto::Relation above;
  *above.mutable_project()->mutable_input() = relation;
  column("x", 1, above.mutable_project()->add_expressions());
  EXPECT_EQ(answer(above), "AMBIGUOUS_COLUMN_REFERENCE");
}

}  // namespace
}  // namespace thalweg
