#include "commands/overwrite_condition.h"

#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/scalar.h>
#include <fmt/format.h>

#include "common/error.h"
#include "expr/call.h"
#include "expr/cast/value_text.h"
#include "expr/constant_folding.h"
#include "expr/nodes.h"
#include "plan/analyze/row_changes.h"
#include "sql/parser.h"
#include "types/arrow_result.h"

namespace thalweg {
namespace {

constexpr const char* kNothing = "false";

// A text between the marks that `open` begins, as SQL writes it.
std::string quoted(const std::string& open, const std::string& text) {
  std::string literal = open + "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') literal += '\\';
    literal += c;
  }
  return literal + "'";
}

// A filter as Spark hands it to a table, and prints it.
class FilterText {
 public:
  FilterText(TimeZone zone, std::string table) : zone_(std::move(zone)), table_(std::move(table)) {}

  std::string of(const Expression& condition) const {
    switch (condition.kind()) {
      case ExpressionKind::And:
      case ExpressionKind::Or: {
        const char* word = condition.kind() == ExpressionKind::And ? "AND" : "OR";
        return fmt::format("({} {} {})", of(*condition.children()[0]), word, of(*condition.children()[1]));
      }
      case ExpressionKind::Literal:
        return constant(static_cast<const Literal&>(condition), *condition.type());
      case ExpressionKind::Attribute:
      case ExpressionKind::Field:
        return fmt::format("({} = true)", column(condition));
      case ExpressionKind::Call:
        return ofCall(static_cast<const Call&>(condition));
      default:
        throw refused(condition);
    }
  }

 private:
  Error refused(const Expression& part) const {
    return Error("_LEGACY_ERROR_TEMP_2245",
                 "Rows of " + table_ + " cannot be overwritten by '" + part.toString() +
                     "': a condition compares columns with constants, or tests them for null; AND, OR and "
                     "NOT join such.",
                 {{"table", table_}});
  }

  std::string ofCall(const Call& call) const {
    const std::string& name = call.traits().name;
    if (name == "not") return negated(*call.children()[0]);
    if (name == "isnull") return fmt::format("({} IS NULL)", column(*call.children()[0]));
    if (name == "isnotnull") return fmt::format("({} IS NOT NULL)", column(*call.children()[0]));
    if (call.children().size() != 2) throw refused(call);
    return comparison(call, name);
  }

  std::string negated(const Expression& condition) const {
    if (condition.kind() == ExpressionKind::Call) {
      const auto& call = static_cast<const Call&>(condition);
      const std::string& name = call.traits().name;
      if (name == "isnull" || name == "isnotnull")
        return fmt::format("({} IS {}NULL)", column(*call.children()[0]), name == "isnull" ? "NOT " : "");
      const char* opposite = name == "<"    ? ">="
                             : name == "<=" ? ">"
                             : name == ">"  ? "<="
                             : name == ">=" ? "<"
                                            : nullptr;
      if (opposite) return comparison(call, opposite);
    }
    return fmt::format("(NOT {})", of(condition));
  }

  std::string comparison(const Call& call, const std::string& symbol) const {
    const Expression& left = *call.children()[0];
    const Expression& right = *call.children()[1];
    if (left.kind() != ExpressionKind::Literal) return compared(call, left, symbol, right);
    const std::string mirrored = symbol == "<"    ? ">"
                                 : symbol == "<=" ? ">="
                                 : symbol == ">"  ? "<"
                                 : symbol == ">=" ? "<="
                                                  : symbol;
    return compared(call, right, mirrored, left);
  }

  std::string compared(const Call& call, const Expression& value, const std::string& symbol,
                       const Expression& other) const {
    if (other.kind() != ExpressionKind::Literal) throw refused(call);
    const bool known = symbol == "=" || symbol == "<=>" || symbol == "<" || symbol == "<=" || symbol == ">" ||
                       symbol == ">=";
    const bool unequal = symbol == "!=" || symbol == "<>";
    if (!known && !unequal) throw refused(call);
    const std::string text = fmt::format("({} {} {})", column(value), known ? symbol : "=",
                                         constant(static_cast<const Literal&>(other), columnType(value)));
    return unequal ? "(NOT " + text + ")" : text;
  }

  // A column, or a field in one. Whole numbers may have been widened to meet a constant, and texts padded.
  static const Expression& bare(const Expression& value) {
    if (value.kind() == ExpressionKind::Cast) {
      const Expression& inner = *value.children()[0];
      const bool widens = inner.type()->isIntegral() && value.type()->isIntegral();
      return widens ? inner : value;
    }
    const bool padded = value.kind() == ExpressionKind::Call && value.children().size() == 1 &&
                        static_cast<const Call&>(value).traits().name == "rpad";
    return padded ? bare(*value.children()[0]) : value;
  }

  static const DataType& columnType(const Expression& value) { return *bare(value).type(); }

  std::vector<std::string> path(const Expression& value) const {
    if (value.kind() == ExpressionKind::Attribute) return {static_cast<const Attribute&>(value).name()};
    if (value.kind() != ExpressionKind::Field) throw refused(value);
    std::vector<std::string> names = path(*value.children()[0]);
    names.push_back(static_cast<const FieldAccess&>(value).fieldName());
    return names;
  }

  std::string column(const Expression& value) const { return sql::unparsedIdentifier(path(bare(value))); }

  // `type`: of the column that the constant is held against.
  std::string constant(const Literal& literal, const DataType& type) const {
    if (literal.isNull()) return "NULL";
    std::string text;
    const auto array = valueOrThrow(arrow::MakeArrayFromScalar(*literal.value(), 1));
    ValueText(*literal.type(), zone_).append(*array, 0, &text);
    switch (literal.type()->id()) {
      case TypeId::Byte:
      case TypeId::Short:
      case TypeId::Int:
      case TypeId::Long:
        return text + suffix(type);
      case TypeId::String:
        return quoted("", text);
      case TypeId::Date:
        return quoted("DATE ", text);
      case TypeId::Timestamp:
        return quoted("TIMESTAMP ", text);
      case TypeId::TimestampNtz:
        return quoted("TIMESTAMP_NTZ ", text);
      case TypeId::Decimal:
        return text + "BD";
      case TypeId::Double:
        return text + "D";
      case TypeId::Float:
        return "CAST(" + text + " AS FLOAT)";
      case TypeId::Boolean:
        return text;
      default:
        throw refused(literal);
    }
  }

  static const char* suffix(const DataType& type) {
    if (type.id() == TypeId::Byte) return "Y";
    if (type.id() == TypeId::Short) return "S";
    return type.id() == TypeId::Long ? "L" : "";
  }

  TimeZone zone_;
  std::string table_;
};

bool isConstant(const Expression& expression, bool value) {
  if (expression.kind() != ExpressionKind::Literal || expression.type()->id() != TypeId::Boolean)
    return false;
  const auto& literal = static_cast<const Literal&>(expression);
  return !literal.isNull() && static_cast<const arrow::BooleanScalar&>(*literal.value()).value == value;
}

}  // namespace

std::optional<ReplacedRows> replacedRows(std::shared_ptr<const spark::connect::Expression> condition,
                                         const TableTarget& target, const Schema& columns,
                                         CommandSession& session) {
  const auto resolve = [condition,
                        name = target.entry ? sql::Name{target.entry->name.catalog, target.entry->name.schema,
                                                        target.entry->name.table}
                                            : sql::Name{},
                        context = session.analyzerContext()](std::vector<AttributePtr> over) {
    for (AttributePtr& column : over) column = column->withQualifier(name);
    return analyzeCondition(*condition, over, context);
  };
  const BatchContext batch = session.batchContext();
  ExpressionPtr resolved;
  try {
    resolved = foldConstants(resolve(tableColumns(columns, {})), EvaluationContext{&batch});
  } catch (const Error& error) {
    if (error.condition() != "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN") throw;
    throw Error("_LEGACY_ERROR_TEMP_1109", "overwrite() takes a condition: " + error.message(),
                {{"f", error.parameters().at("sqlExpr")}});
  }
  if (isConstant(*resolved, true)) return std::nullopt;
  if (isConstant(*resolved, false)) return ReplacedRows{kNothing, resolve};
  return ReplacedRows{FilterText(batch.timeZone, target.shownName()).of(*resolved), resolve};
}

bool replacesNothing(const ReplacedRows& rows) {
  return rows.text == kNothing;
}

}  // namespace thalweg
