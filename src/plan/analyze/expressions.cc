#include "plan/analyze/expressions.h"

#include <spark/connect/expressions.pb.h>

#include "common/error.h"
#include "expr/aggregate.h"
#include "expr/canonical.h"
#include "expr/cast/cast.h"
#include "expr/generator.h"
#include "plan/analyze/attribute_name.h"
#include "plan/analyze/char_padding.h"
#include "plan/analyze/literals.h"
#include "plan/analyze/proto_types.h"
#include "sql/message_ptr.h"
#include "sql/parser.h"
#include "thalweg.pb.h"
#include "types/ddl.h"

namespace thalweg {
namespace {

namespace proto = spark::connect;

std::vector<std::string> starTarget(const proto::Expression::UnresolvedStar& star) {
  std::string target = star.has_unparsed_target() ? star.unparsed_target() : "";
  if (target.empty()) return {};
  if (target.ends_with(".*")) target.resize(target.size() - 2);
  return parseAttributeName(target);
}

CastMode castModeOf(const proto::Expression::Cast& cast, const FunctionContext& context) {
  switch (cast.eval_mode()) {
    case proto::Expression::Cast::EVAL_MODE_LEGACY: return CastMode::Legacy;
    case proto::Expression::Cast::EVAL_MODE_ANSI: return CastMode::Ansi;
    case proto::Expression::Cast::EVAL_MODE_TRY: return CastMode::Try;
    default: return context.castMode();
  }
}

// current_catalog(), current_schema(), current_database(): known when the plan is analyzed. Null for other calls.
ExpressionPtr sessionValue(const std::string& name, size_t numArguments, const AnalyzerContext& context) {
  if (numArguments > 0) return nullptr;
  if (equalsIgnoreCase(name, "current_catalog")) return Literal::of(context.currentCatalog);
  if (equalsIgnoreCase(name, "current_schema") || equalsIgnoreCase(name, "current_database")) return Literal::of(context.currentSchema);
  return nullptr;
}

}  // namespace

ExpressionPtr ExpressionAnalyzer::resolve(const proto::Expression& message) const {
  switch (message.expr_type_case()) {
    case proto::Expression::kLiteral: return fromProtoLiteral(message.literal());
    case proto::Expression::kUnresolvedAttribute: return resolveAttribute(message);
    case proto::Expression::kUnresolvedFunction: {
      const auto& call = message.unresolved_function();
      std::vector<const proto::Expression*> arguments;
      for (const auto& argument : call.arguments()) arguments.push_back(&argument);
      // A function of the DataFrame API that SQL does not have. (Texts leave their positions.)
      if (message.common().origin().has_jvm_origin() && equalsIgnoreCase(call.function_name(), "product")) throwUnknownFunction("product");
      return resolveCall(call.function_name(), arguments, call.is_distinct());
    }
    case proto::Expression::kCallFunction: {
      std::vector<const proto::Expression*> arguments;
      for (const auto& argument : message.call_function().arguments()) arguments.push_back(&argument);
      return resolveCall(message.call_function().function_name(), arguments, false);
    }
    case proto::Expression::kExpressionString: {
      proto::Expression parsed;
      sql::parseExpression(message.expression_string().expression(), &parsed);
      return resolve(parsed);
    }
    case proto::Expression::kAlias: {
      const auto& alias = message.alias();
      const ExpressionPtr child = resolve(alias.expr());
      if (child->kind() == ExpressionKind::Generator)
        return static_cast<const GeneratorCall&>(*child).withNames({alias.name().begin(), alias.name().end()});
      if (alias.name_size() != 1) throw unsupported("An alias of several names for one value");
      std::optional<std::string> metadata;
      if (alias.has_metadata()) metadata = alias.metadata();
      return std::make_shared<Alias>(child, alias.name(0), nextExpressionId(), metadata);
    }
    case proto::Expression::kCast: return resolveCast(message);
    case proto::Expression::kSortOrder: {
      const auto& order = message.sort_order();
      std::optional<bool> nullsFirst;
      if (order.null_ordering() != proto::Expression::SortOrder::SORT_NULLS_UNSPECIFIED) {
        nullsFirst = order.null_ordering() == proto::Expression::SortOrder::SORT_NULLS_FIRST;
      }
      return sortOrder(resolve(order.child()),
                       order.direction() != proto::Expression::SortOrder::SORT_DIRECTION_DESCENDING, nullsFirst);
    }
    case proto::Expression::kUnresolvedExtractValue: return resolveExtract(message);
    case proto::Expression::kUnresolvedStar:
      throw Error("INVALID_USAGE_OF_STAR_OR_REGEX", "A star stands for several columns and is no value here.",
                  {{"elem", "'*'"}, {"prettyName", "expression"}});
    case proto::Expression::kCommonInlineUserDefinedFunction:
      throw Error("UNSUPPORTED_FEATURE.PYTHON_UDF",
                  "Python functions run only on a server that was started with --allow-python, which is not built yet.");
    case proto::Expression::kWindow: throw unsupported("A window function (OVER)");
    case proto::Expression::kLambdaFunction:
    case proto::Expression::kUnresolvedNamedLambdaVariable: throw unsupported("A higher-order function");
    case proto::Expression::kUpdateFields: throw unsupported("withField and dropFields");
    case proto::Expression::kUnresolvedRegex: throw unsupported("colRegex");
    case proto::Expression::kSubqueryExpression: throw unsupported("A subquery in an expression");
    case proto::Expression::kExtension: return resolveExtension(message);
    default: throw unsupported("An expression of this kind (" + std::to_string(message.expr_type_case()) + ")");
  }
}

ExpressionPtr ExpressionAnalyzer::resolveAttribute(const proto::Expression& message) const {
  const auto& attribute = message.unresolved_attribute();
  const std::vector<std::string> parts = parseAttributeName(attribute.unparsed_identifier());
  if (attribute.has_plan_id()) return scope_.resolveInPlan(parts, attribute.plan_id());
  if (aliases_) {
    if (prefer_ == Prefer::Aliases) {
      if (ExpressionPtr found = findAlias(parts)) return found;
    }
    if (ExpressionPtr found = scope_.find(parts)) return found;
    if (ExpressionPtr found = findAlias(parts)) return found;
  }
  return scope_.resolve(parts);
}

ExpressionPtr ExpressionAnalyzer::findAlias(const std::vector<std::string>& parts) const {
  ExpressionPtr found;
  for (const ExpressionPtr& item : *aliases_) {
    if (item->kind() != ExpressionKind::Alias) continue;
    const std::string& name = static_cast<const Alias&>(*item).name();
    if (scope_.caseSensitive() ? name != parts[0] : !equalsIgnoreCase(name, parts[0])) continue;
    if (found) {
      throw Error("AMBIGUOUS_LATERAL_COLUMN_ALIAS", "The name `" + parts[0] + "` is an alias of several items of the select list.",
                  {{"name", "`" + parts[0] + "`"}, {"n", "2"}});
    }
    found = item->children()[0];
  }
  for (size_t i = 1; found && i < parts.size(); ++i) found = extractField(found, parts[i], scope_.caseSensitive());
  return found;
}

std::vector<ExpressionPtr> ExpressionAnalyzer::resolveList(const google::protobuf::RepeatedPtrField<proto::Expression>& messages) const {
  std::vector<ExpressionPtr> list;
  const ExpressionAnalyzer items(scope_, context_, &list);
  for (const proto::Expression& message : messages) {
    std::vector<ExpressionPtr> resolved = items.resolveNamed(message);
    list.insert(list.end(), resolved.begin(), resolved.end());
  }
  return list;
}

ExpressionPtr ExpressionAnalyzer::resolveCall(const std::string& name, const std::vector<const proto::Expression*>& arguments,
                                              bool distinct, std::vector<ExpressionPtr> withinGroup) const {
  if (ExpressionPtr value = sessionValue(name, arguments.size(), context_)) return value;
  if (prefer_ == Prefer::Aliases && isAggregateFunction(name)) {
    return ExpressionAnalyzer(scope_, context_, aliases_).resolveCall(name, arguments, distinct, std::move(withinGroup));
  }
  FunctionCall call{name, {}, distinct, std::move(withinGroup)};
  for (const proto::Expression* argument : arguments) {
    if (argument->has_unresolved_star()) {
      // count(*) counts rows; elsewhere a star stands for its columns.
      if (name == "count" && !distinct && starTarget(argument->unresolved_star()).empty()) {
        call.arguments.push_back(Literal::of(static_cast<int32_t>(1)));
        continue;
      }
      for (ExpressionPtr& column : scope_.expandStar(starTarget(argument->unresolved_star()))) {
        call.arguments.push_back(column->kind() == ExpressionKind::Alias ? column->children()[0] : column);
      }
      continue;
    }
    call.arguments.push_back(resolve(*argument));
    if (containsGenerator(*call.arguments.back())) {
      const std::string text = "\"" + toLowerAscii(name) + "(" + call.arguments.back()->toString() + ")\"";
      throw Error("UNSUPPORTED_GENERATOR.NESTED_IN_EXPRESSIONS",
                  "A generator is an item of a select list by itself, not a part of " + text + "; select it first, then compute.",
                  {{"expression", text}});
    }
  }
  padComparison(call.name, &call.arguments);
  return resolveFunction(call, context_.functions);
}

ExpressionPtr ExpressionAnalyzer::resolveExtension(const proto::Expression& message) const {
  messages::SqlFunctionCall extended;
  if (!sql::unpackExtension(message.extension(), &extended)) throw unsupported("An expression of this kind");
  proto::Expression plain = extended.function();
  auto& call = *plain.mutable_unresolved_function();
  if (extended.ignore_nulls()) call.add_arguments()->mutable_literal()->set_boolean(true);
  std::vector<ExpressionPtr> withinGroup;
  for (const auto& order : extended.within_group()) {
    proto::Expression one;
    *one.mutable_sort_order() = order;
    withinGroup.push_back(resolve(one));
  }
  std::vector<const proto::Expression*> arguments;
  for (const auto& argument : call.arguments()) arguments.push_back(&argument);
  const ExpressionPtr function = resolveCall(call.function_name(), arguments, call.is_distinct(), std::move(withinGroup));
  return extended.has_filter() ? withFilter(function, resolve(extended.filter())) : function;
}

std::vector<ExpressionPtr> ExpressionAnalyzer::expandExcept(const messages::SqlStarExcept& except) const {
  std::vector<ExpressionPtr> list = scope_.expandStar(starTarget(except.star().unresolved_star()));
  for (const std::string& column : except.columns()) {
    const ExpressionPtr left = scope_.resolve(parseAttributeName(column));
    const size_t before = list.size();
    std::erase_if(list, [&](const ExpressionPtr& one) { return sameExpression(*one, *left); });
    if (list.size() == before) throw unsupported("EXCEPT of a struct's field");
  }
  return list;
}

ExpressionPtr ExpressionAnalyzer::resolveCast(const proto::Expression& message) const {
  const auto& cast = message.cast();
  const DataTypePtr to = cast.has_type() ? fromProtoType(cast.type()) : parseTypeDdl(cast.type_str());
  return castTo(resolve(cast.expr()), to, castModeOf(cast, context_.functions), /*userSpecified=*/true);
}

ExpressionPtr ExpressionAnalyzer::resolveExtract(const proto::Expression& message) const {
  const auto& extract = message.unresolved_extract_value();
  const ExpressionPtr base = resolve(extract.child());
  if (base->type()->id() == TypeId::Struct && extract.extraction().has_literal() &&
      extract.extraction().literal().has_string()) {
    return extractField(base, extract.extraction().literal().string(), scope_.caseSensitive());
  }
  return resolveFunction({"getItem", {base, resolve(extract.extraction())}}, context_.functions);
}

std::vector<ExpressionPtr> ExpressionAnalyzer::resolveNamed(const proto::Expression& message) const {
  if (message.has_expression_string()) {
    proto::Expression parsed;
    sql::parseExpression(message.expression_string().expression(), &parsed);
    return resolveNamed(parsed);
  }
  if (message.has_unresolved_star()) return scope_.expandStar(starTarget(message.unresolved_star()));
  if (message.has_extension()) {
    messages::SqlStarExcept except;
    if (sql::unpackExtension(message.extension(), &except)) return expandExcept(except);
  }
  if (message.has_unresolved_function() && message.unresolved_function().arguments().empty()) {
    const std::string& name = message.unresolved_function().function_name();
    if (ExpressionPtr value = sessionValue(name, 0, context_)) return {std::make_shared<Alias>(value, toLowerAscii(name) + "()")};
  }
  const ExpressionPtr value = resolve(message);
  // `map.key` is called as the field of a struct would be.
  if (message.has_unresolved_attribute() && value->kind() == ExpressionKind::Call)
    return {std::make_shared<Alias>(
        value, parseAttributeName(message.unresolved_attribute().unparsed_identifier()).back())};
  return {named(value)};
}

ExpressionPtr named(const ExpressionPtr& expression) {
  switch (expression->kind()) {
    case ExpressionKind::Attribute:
    case ExpressionKind::Alias:
    case ExpressionKind::Generator: return expression;
    case ExpressionKind::Field:
      return std::make_shared<Alias>(expression, static_cast<const FieldAccess&>(*expression).fieldName());
    case ExpressionKind::Cast: {
      // A cast column keeps its name.
      const ExpressionPtr& child = expression->children()[0];
      if (child->kind() == ExpressionKind::Attribute || child->kind() == ExpressionKind::Alias) {
        const std::string name = child->kind() == ExpressionKind::Attribute ? static_cast<const Attribute&>(*child).name()
                                                                            : static_cast<const Alias&>(*child).name();
        return std::make_shared<Alias>(expression, name);
      }
      break;
    }
    default: break;
  }
  return std::make_shared<Alias>(expression, expression->toString());
}

ExpressionPtr withFilter(const ExpressionPtr& expression, const ExpressionPtr& filter) {
  const std::string text = "\"" + filter->toString() + "\"";
  if (containsAggregate(*filter)) {
    throw Error("INVALID_AGGREGATE_FILTER.CONTAINS_AGGREGATE", "FILTER (WHERE …) chooses rows and cannot hold an aggregate function: " + text + ".",
                {{"filterExpr", text}, {"aggExpr", text}});
  }
  if (filter->type()->id() != TypeId::Boolean) {
    throw Error("INVALID_AGGREGATE_FILTER.NOT_BOOLEAN",
                "FILTER (WHERE …) takes a condition, but " + text + " is " + filter->type()->sqlString() + ".", {{"filterExpr", text}});
  }
  if (!filter->deterministic()) {
    throw Error("INVALID_AGGREGATE_FILTER.NON_DETERMINISTIC", "FILTER (WHERE …) takes no condition that differs from call to call: " + text + ".",
                {{"filterExpr", text}});
  }
  if (expression->kind() == ExpressionKind::Aggregate) return static_cast<const AggregateCall&>(*expression).withFilter(filter);
  if (!containsAggregate(*expression)) {
    throw Error("INVALID_SQL_SYNTAX.FUNCTION_WITH_UNSUPPORTED_SYNTAX", "Only aggregate functions take FILTER (WHERE …), not '" +
                                                                            expression->toString() + "'.",
                {{"prettyName", "`" + expression->toString() + "`"}, {"syntax", "FILTER CLAUSE"}});
  }
  std::vector<ExpressionPtr> children;
  for (const ExpressionPtr& child : expression->children()) children.push_back(containsAggregate(*child) ? withFilter(child, filter) : child);
  return expression->withChildren(std::move(children));
}

ExpressionPtr sortOrder(const ExpressionPtr& child, bool ascending, std::optional<bool> nullsFirst) {
  return std::make_shared<SortOrder>(child, ascending, nullsFirst.value_or(ascending));
}

}  // namespace thalweg
