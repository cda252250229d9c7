#include "sql/message_printer.h"

#include <fmt/format.h>

#include "common/error.h"
#include "spark/connect/expressions.pb.h"
#include "spark/connect/relations.pb.h"
#include "sql/parser.h"
#include "thalweg.pb.h"

namespace thalweg::sql {
namespace {

namespace sc = spark::connect;

template <typename List>
std::string printedList(const List& list) {
  std::string text;
  for (const auto& item : list) text += (text.empty() ? "" : ", ") + printed(item);
  return text;
}

std::string printedLiteral(const sc::Expression::Literal& literal) {
  using L = sc::Expression::Literal;
  switch (literal.literal_type_case()) {
    case L::kNull: return "NULL";
    case L::kBinary: return fmt::format("X'{:02X}'", fmt::join(reinterpret_cast<const uint8_t*>(literal.binary().data()),
                                        reinterpret_cast<const uint8_t*>(literal.binary().data()) + literal.binary().size(), ""));
    case L::kBoolean: return literal.boolean() ? "true" : "false";
    case L::kByte: return fmt::format("{}Y", literal.byte());
    case L::kShort: return fmt::format("{}S", literal.short_());
    case L::kInteger: return fmt::format("{}", literal.integer());
    case L::kLong: return fmt::format("{}L", literal.long_());
    case L::kFloat: return fmt::format("{}F", literal.float_());
    case L::kDouble: return fmt::format("{}D", literal.double_());
    case L::kDecimal:
      return fmt::format("{}:decimal({},{})", literal.decimal().value(), literal.decimal().precision(),
                         literal.decimal().scale());
    case L::kString: return "'" + literal.string() + "'";
    case L::kDate: return fmt::format("date:{}", literal.date());
    case L::kTimestamp: return fmt::format("timestamp:{}", literal.timestamp());
    case L::kTimestampNtz: return fmt::format("ntz:{}", literal.timestamp_ntz());
    case L::kYearMonthInterval:
      return fmt::format("months:{}({}-{})", literal.year_month_interval(),
                         literal.data_type().year_month_interval().start_field(),
                         literal.data_type().year_month_interval().end_field());
    case L::kDayTimeInterval:
      return fmt::format("micros:{}({}-{})", literal.day_time_interval(),
                         literal.data_type().day_time_interval().start_field(),
                         literal.data_type().day_time_interval().end_field());
    default: return "?";
  }
}

std::string printedBoundary(const sc::Expression::Window::WindowFrame::FrameBoundary& boundary) {
  return boundary.current_row() ? "CURRENT" : boundary.unbounded() ? "UNBOUNDED" : printed(boundary.value());
}

std::string printedWindow(const sc::Expression::Window& window) {
  std::string text = printed(window.window_function()) + " OVER (";
  if (window.partition_spec_size()) text += "PARTITION " + printedList(window.partition_spec()) + " ";
  if (window.order_spec_size()) text += "ORDER " + printedList(window.order_spec()) + " ";
  if (window.has_frame_spec()) {
    text += window.frame_spec().frame_type() == sc::Expression::Window::WindowFrame::FRAME_TYPE_ROW ? "ROWS " : "RANGE ";
    text += printedBoundary(window.frame_spec().lower()) + ".." + printedBoundary(window.frame_spec().upper());
  }
  if (text.back() == ' ') text.pop_back();
  return text + ")";
}

std::string printedExtension(const google::protobuf::Any& extension) {
  messages::SqlFunctionCall call;
  if (unpackExtension(extension, &call)) {
    return printed(call.function()) + (call.has_filter() ? " FILTER " + printed(call.filter()) : "") +
           (call.ignore_nulls() ? " IGNORE NULLS" : "") +
           (call.within_group_size() ? " WITHIN " + printedList(call.within_group()) : "");
  }
  messages::SqlStarExcept star;
  if (unpackExtension(extension, &star)) return printed(star.star()) + fmt::format(" EXCEPT {}", fmt::join(star.columns(), ", "));
  messages::SqlDefault byDefault;
  return unpackExtension(extension, &byDefault) ? "DEFAULT" : "?";
}

std::string printedReadOptions(const sc::Read::NamedTable& table) {
  std::map<std::string, std::string> sorted(table.options().begin(), table.options().end());
  std::string text;
  for (const auto& [key, value] : sorted) text += " " + key + "=" + value;
  return text;
}

std::string printedJoin(const sc::Join& join) {
  std::string text = "Join " + sc::Join::JoinType_Name(join.join_type()).substr(10);
  if (join.has_join_condition()) text += "[" + printed(join.join_condition()) + "]";
  if (join.using_columns_size()) text += fmt::format(" USING {}", fmt::join(join.using_columns(), ", "));
  return text + "(" + printed(join.left()) + ", " + printed(join.right()) + ")";
}

std::string printedRelationExtension(const google::protobuf::Any& extension) {
  messages::SqlAggregate aggregate;
  if (unpackExtension(extension, &aggregate)) {
    std::string text = "Aggregate " + sc::Aggregate::GroupType_Name(aggregate.group_type()).substr(11);
    text += aggregate.group_by_all() ? " ALL" : "";
    text += "[" + printedList(aggregate.grouping()) + "]";
    for (const auto& set : aggregate.grouping_sets()) text += "{" + printedList(set.grouping_set()) + "}";
    text += "[" + printedList(aggregate.select()) + "]";
    if (aggregate.has_having()) text += " HAVING " + printed(aggregate.having());
    return text + "(" + (aggregate.has_input() ? printed(aggregate.input()) : "") + ")";
  }
  messages::SqlValues values;
  if (unpackExtension(extension, &values)) {
    std::string text;
    for (const auto& row : values.rows()) text += (text.empty() ? "(" : ", (") + printedList(row.values()) + ")";
    return "Values[" + text + "]";
  }
  messages::SqlDistinct distinct;
  if (unpackExtension(extension, &distinct)) return "Distinct(" + printed(distinct.input()) + ")";
  messages::SqlNaturalJoin join;
  return unpackExtension(extension, &join) ? "Natural" + printedJoin(join.join()) : "?";
}

std::string printedWith(const sc::WithRelations& with) {
  std::string text = "With(" + printed(with.root());
  for (const auto& reference : with.references()) text += "; " + printed(reference);
  return text + ")";
}

std::string printedSetOperation(const sc::SetOperation& operation) {
  return sc::SetOperation::SetOpType_Name(operation.set_op_type()).substr(12) + (operation.is_all() ? " ALL(" : "(") +
         printed(operation.left_input()) + ", " + printed(operation.right_input()) + ")";
}

std::string printedTree(const sc::Relation& relation) {
  using R = sc::Relation;
  switch (relation.rel_type_case()) {
    case R::kRead:
      return (relation.read().is_streaming() ? "Stream " : "Read ") + relation.read().named_table().unparsed_identifier() +
             printedReadOptions(relation.read().named_table());
    case R::kProject:
      return "Project[" + printedList(relation.project().expressions()) + "](" +
             (relation.project().has_input() ? printed(relation.project().input()) : "") + ")";
    case R::kFilter: return "Filter[" + printed(relation.filter().condition()) + "](" + printed(relation.filter().input()) + ")";
    case R::kJoin: return printedJoin(relation.join());
    case R::kLateralJoin: {
      const auto& join = relation.lateral_join();
      return "Lateral " + sc::Join::JoinType_Name(join.join_type()).substr(10) +
             (join.has_join_condition() ? "[" + printed(join.join_condition()) + "]" : "") + "(" + printed(join.left()) + ", " +
             printed(join.right()) + ")";
    }
    case R::kSetOp: return printedSetOperation(relation.set_op());
    case R::kSort:
      return std::string(relation.sort().is_global() ? "Sort[" : "LocalSort[") + printedList(relation.sort().order()) + "](" +
             printed(relation.sort().input()) + ")";
    case R::kLimit: return fmt::format("Limit {}({})", relation.limit().limit(), printed(relation.limit().input()));
    case R::kOffset: return fmt::format("Offset {}({})", relation.offset().offset(), printed(relation.offset().input()));
    case R::kDeduplicate: return "Distinct(" + printed(relation.deduplicate().input()) + ")";
    case R::kSubqueryAlias: return relation.subquery_alias().alias() + "=" + printed(relation.subquery_alias().input());
    case R::kToDf:
      return fmt::format("ToDF[{}](", fmt::join(relation.to_df().column_names(), ", ")) + printed(relation.to_df().input()) + ")";
    case R::kUnresolvedTableValuedFunction:
      return relation.unresolved_table_valued_function().function_name() + "(" +
             printedList(relation.unresolved_table_valued_function().arguments()) + ")";
    case R::kHint:
      return "Hint " + relation.hint().name() + "[" + printedList(relation.hint().parameters()) + "](" +
             printed(relation.hint().input()) + ")";
    case R::kRepartitionByExpression:
      return "Repartition[" + printedList(relation.repartition_by_expression().partition_exprs()) + "](" +
             printed(relation.repartition_by_expression().input()) + ")";
    case R::kWithRelations: return printedWith(relation.with_relations());
    case R::kExtension: return printedRelationExtension(relation.extension());
    default: return "?";
  }
}

std::string printedSubquery(const sc::SubqueryExpression& subquery) {
  const std::string type = sc::SubqueryExpression::SubqueryType_Name(subquery.subquery_type()).substr(14);
  return fmt::format("{}#{}({})", type, subquery.plan_id() - kFirstPlanId, printedList(subquery.in_subquery_values()));
}

template <typename Parse>
std::string resultOf(const Parse& parse) {
  try {
    return parse();
  } catch (const Error& error) {
    return error.condition();
  }
}

}  // namespace

std::string printed(const sc::Expression::SortOrder& order) {
  const bool descending = order.direction() == sc::Expression::SortOrder::SORT_DIRECTION_DESCENDING;
  const bool first = order.null_ordering() == sc::Expression::SortOrder::SORT_NULLS_FIRST;
  return printed(order.child()) + (descending ? " DESC" : " ASC") + (first == descending ? first ? " FIRST" : " LAST" : "");
}

std::string printed(const sc::Expression& expression) {
  using E = sc::Expression;
  switch (expression.expr_type_case()) {
    case E::kLiteral: return printedLiteral(expression.literal());
    case E::kUnresolvedAttribute: return expression.unresolved_attribute().unparsed_identifier();
    case E::kUnresolvedStar:
      return expression.unresolved_star().has_unparsed_target() ? expression.unresolved_star().unparsed_target() : "*";
    case E::kUnresolvedFunction:
      return expression.unresolved_function().function_name() + "(" +
             (expression.unresolved_function().is_distinct() ? "DISTINCT " : "") +
             printedList(expression.unresolved_function().arguments()) + ")";
    case E::kCallFunction:
      return "call " + expression.call_function().function_name() + "(" + printedList(expression.call_function().arguments()) + ")";
    case E::kAlias: return printed(expression.alias().expr()) + fmt::format(" AS {}", fmt::join(expression.alias().name(), "+"));
    case E::kCast:
      return (expression.cast().eval_mode() == E::Cast::EVAL_MODE_TRY ? "TRY_CAST(" : "CAST(") + printed(expression.cast().expr()) +
             " AS " + expression.cast().type_str() + ")";
    case E::kUnresolvedExtractValue:
      return printed(expression.unresolved_extract_value().child()) + "[" +
             printed(expression.unresolved_extract_value().extraction()) + "]";
    case E::kLambdaFunction: {
      std::string names;
      for (const auto& argument : expression.lambda_function().arguments()) {
        names += (names.empty() ? "" : ", ") + argument.name_parts(0);
      }
      return "(" + names + ") -> " + printed(expression.lambda_function().function());
    }
    case E::kUnresolvedNamedLambdaVariable:
      return fmt::format("${}", fmt::join(expression.unresolved_named_lambda_variable().name_parts(), "."));
    case E::kNamedArgumentExpression:
      return expression.named_argument_expression().key() + " => " + printed(expression.named_argument_expression().value());
    case E::kWindow: return printedWindow(expression.window());
    case E::kSubqueryExpression: return printedSubquery(expression.subquery_expression());
    case E::kExtension: return printedExtension(expression.extension());
    default: return "?";
  }
}

std::string printed(const sc::Relation& relation) {
  const std::string tree = printedTree(relation);
  return relation.common().has_plan_id() ? fmt::format("#{}={}", relation.common().plan_id() - kFirstPlanId, tree) : tree;
}

std::string printedExpression(const std::string& text) {
  return resultOf([&] {
    sc::Expression expression;
    parseExpression(text, &expression);
    return printed(expression);
  });
}

std::string printedQuery(const std::string& text) {
  return resultOf([&] {
    sc::Relation relation;
    parseQuery(text, &relation);
    return printed(relation);
  });
}

}  // namespace thalweg::sql
