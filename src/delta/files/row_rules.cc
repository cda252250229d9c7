#include "delta/files/row_rules.h"

#include <algorithm>

#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <nlohmann/json.hpp>

#include "columnar/list_values.h"
#include "common/error.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"
#include "types/column_metadata.h"
#include "types/schema_json.h"

namespace thalweg::delta {
namespace {

Error needsEvaluator(const std::string& what) {
  return Error("DELTA_UNSUPPORTED_FEATURES_FOR_WRITE",
               "The Delta table has " + what + ", which only a writer that evaluates SQL can write.",
               {{"tableNameOrPath", ""}, {"unsupported", what}});
}

// The expression in a column's delta.invariants: {"expression":{"expression":"x > 3"}}, itself a text.
std::optional<std::string> invariantOf(const StructField& column) {
  const auto text = metadataText(column.metadata, "delta.invariants");
  if (!text) return std::nullopt;
  const auto json = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (json.is_object() && json.contains("expression") && json["expression"].is_object()) {
    const auto& inner = json["expression"];
    if (inner.contains("expression") && inner["expression"].is_string())
      return inner["expression"].get<std::string>();
  }
  throw unsupported("the invariant " + *text + " of column " + column.name);
}

void refuseNestedRules(const DataType& type, const std::string& path) {
  if (type.id() == TypeId::Array) return refuseNestedRules(*type.element(), path);
  if (type.id() == TypeId::Map) {
    refuseNestedRules(*type.key(), path);
    return refuseNestedRules(*type.value(), path);
  }
  if (type.id() != TypeId::Struct) return;
  for (const StructField& field : type.fields()) {
    for (const std::string_view key : {std::string_view("delta.invariants"), kGenerationExpression}) {
      if (hasMetadataKey(field.metadata, key))
        throw unsupported(std::string(key) + " of the nested column " + path + "." + field.name);
    }
    refuseNestedRules(*field.type, path + "." + field.name);
  }
}

// Holds all strings of a column up to their bounds. `path` names the values in the check that an error shows.
class LengthCheck {
 public:
  explicit LengthCheck(const StringBounds& bounds) : bounds_(bounds) {}

  void check(const std::shared_ptr<arrow::Array>& values, const DataType& type, const std::string& path) {
    switch (type.id()) {
      case TypeId::String:
        return checkStrings(static_cast<const arrow::StringArray&>(*values), path);
      case TypeId::Array: {
        const auto lists = withUsedValuesOnly(values, arrow::default_memory_pool());
        return check(static_cast<const arrow::ListArray&>(*lists).values(), *type.element(),
                     path + ".element");
      }
      case TypeId::Map: {
        const auto maps = withUsedValuesOnly(values, arrow::default_memory_pool());
        const auto& map = static_cast<const arrow::MapArray&>(*maps);
        check(map.keys(), *type.key(), path + ".key");
        return check(map.items(), *type.value(), path + ".value");
      }
      case TypeId::Struct:
        for (size_t i = 0; i < type.fields().size(); ++i) {
          const StructField& field = type.fields()[i];
          const auto child = valueOrThrow(
              static_cast<const arrow::StructArray&>(*values).GetFlattenedField(static_cast<int>(i)));
          check(child, *field.type, path + ".`" + field.name + "`");
        }
        return;
      default:
        return;
    }
  }

 private:
  void checkStrings(const arrow::StringArray& values, const std::string& path) {
    const StringBound& bound = bounds_[next_++];
    if (bound.kind == StringBound::Kind::None) return;
    for (int64_t row = 0; row < values.length(); ++row) {
      if (values.IsNull(row) || values.value_length(row) <= bound.length) continue;
      const std::string_view value = values.GetView(row);
      if (numCharacters(value) <= bound.length) continue;
      const std::string rule = fmt::format("(({0} IS NULL) OR (length({0}) <= {1}))", path, bound.length);
      throw Error(
          "DELTA_EXCEED_CHAR_VARCHAR_LIMIT",
          fmt::format("The value \"{}\" is longer than its CHAR or VARCHAR takes: {}. Trailing spaces count.",
                      value, rule),
          {{"value", std::string(value)}, {"expr", rule}});
    }
  }

  const StringBounds& bounds_;
  size_t next_ = 0;
};

// What a value that comes for a generated column must satisfy.
std::string generationCheck(const std::string& column, const std::string& sql) {
  std::string name = "`";
  for (const char c : column) name += c == '`' ? "``" : std::string(1, c);
  return name + "` <=> (" + sql + ")";
}

void checkField(const arrow::Array& values, const StructField& field, const std::string& path) {
  if (!field.nullable && values.null_count() > 0) {
    throw Error("DELTA_NOT_NULL_CONSTRAINT_VIOLATED",
                "A row to be written has null in column " + path + ", which must not be null.",
                {{"columnName", path}});
  }
  if (field.type->id() != TypeId::Struct) return;
  const auto& rows = static_cast<const arrow::StructArray&>(values);
  for (size_t i = 0; i < field.type->fields().size(); ++i) {
    const StructField& inner = field.type->fields()[i];
    const auto child = valueOrThrow(rows.GetFlattenedField(static_cast<int>(i)));
    checkField(*child, inner, path + "." + inner.name);
  }
}

bool hasNotNull(const DataType& type) {
  if (type.id() != TypeId::Struct) return false;
  return std::any_of(type.fields().begin(), type.fields().end(),
                     [](const StructField& field) { return !field.nullable || hasNotNull(*field.type); });
}

void checkNotNull(const arrow::RecordBatch& rows, const Schema& schema) {
  for (size_t i = 0; i < schema.fields().size(); ++i)
    checkField(*rows.column(static_cast<int>(i)), schema.fields()[i], schema.fields()[i].name);
}

}  // namespace

bool isGenerated(const StructField& column) {
  return hasMetadataKey(column.metadata, kGenerationExpression);
}
bool isIdentity(const StructField& column) {
  return hasMetadataKey(column.metadata, kIdentityStep);
}

std::optional<int64_t> identityMarkAfter(const StructField& column, int64_t value) {
  __extension__ using Wide = __int128;
  const int64_t start = metadataNumber(column.metadata, kIdentityStart).value_or(1);
  const int64_t step = metadataNumber(column.metadata, kIdentityStep).value_or(1);
  const auto mark = metadataNumber(column.metadata, kIdentityHighWaterMark);
  if (step == 0) return std::nullopt;
  const auto isBefore = [step](Wide left, Wide right) { return step > 0 ? left < right : left > right; };
  // A mark before START would give values that no one asked for: it moves in any case.
  const bool misplaced = mark && isBefore(*mark, start);
  if (isBefore(value, start) && !misplaced) return std::nullopt;
  const Wide offset = Wide(value) - start;
  Wide count = offset / step;
  if (isBefore(start + count * step, value)) ++count;
  Wide next = start + count * step;
  if (mark && isBefore(next, *mark)) next = *mark;
  if (next != static_cast<int64_t>(next)) {
    throw Error("ARITHMETIC_OVERFLOW", "The identity column " + column.name + " has the value " +
                                           std::to_string(value) +
                                           ", and the next one of its sequence is no BIGINT.");
  }
  if (mark == static_cast<int64_t>(next)) return std::nullopt;
  return static_cast<int64_t>(next);
}
bool isFilledIn(const StructField& column) {
  return isGenerated(column) || isIdentity(column) || hasMetadataKey(column.metadata, kCurrentDefault);
}

// Gives out start, start + step, … from behind the mark.
struct RowRules::Identity {
  int column;
  int64_t step;
  int64_t first;
  std::atomic<int64_t> given = 0;

  Identity(int index, const StructField& field)
      : column(index), step(metadataNumber(field.metadata, kIdentityStep).value_or(1)) {
    const auto mark = metadataNumber(field.metadata, kIdentityHighWaterMark);
    const int64_t start = metadataNumber(field.metadata, kIdentityStart).value_or(1);
    first = mark ? valueAt(*mark, 1) : start;
  }

  int64_t valueAt(int64_t from, int64_t steps) const {
    int64_t distance = 0;
    int64_t value = 0;
    if (!__builtin_mul_overflow(step, steps, &distance) && !__builtin_add_overflow(from, distance, &value))
      return value;
    throw Error("ARITHMETIC_OVERFLOW", "The identity column has given out the last value of a BIGINT.");
  }

  std::shared_ptr<arrow::Array> next(int64_t count) {
    const int64_t before = given.fetch_add(count);
    arrow::Int64Builder builder;
    throwIfFailed(builder.Reserve(count));
    for (int64_t i = 0; i < count; ++i) builder.UnsafeAppend(valueAt(first, before + i));
    return valueOrThrow(builder.Finish());
  }
};

RowRules::~RowRules() = default;

RowRules::RowRules(const Metadata& metadata, SchemaPtr schema, const std::vector<bool>& given,
                   const ExpressionEvaluator* evaluator)
    : schema_(std::move(schema)), hasNotNull_(hasNotNull(*schema_)) {
  const auto needed = [&](const std::string& what) -> const ExpressionEvaluator& {
    if (!evaluator) throw needsEvaluator(what);
    return *evaluator;
  };
  for (size_t i = 0; i < schema_->fields().size(); ++i) {
    const StructField& column = schema_->fields()[i];
    const int index = static_cast<int>(i);
    refuseNestedRules(*column.type, column.name);
    addLengths(index);
    if (const auto sql = invariantOf(column))
      addCheck(column.name, *sql, needed("an invariant of column " + column.name));
    if (const auto sql = metadataText(column.metadata, kGenerationExpression)) {
      addGenerated(index, *sql, given[i], needed("the generated column " + column.name));
    } else if (!given[i] && isIdentity(column)) {
      identities_.push_back(std::make_unique<Identity>(index, column));
    } else if (const auto value = metadataText(column.metadata, kCurrentDefault); value && !given[i]) {
      defaults_.push_back(
          {index, needed("the default of column " + column.name).compile(*value, schema_, column.type)});
    }
  }
  for (const auto& [key, sql] : metadata.configuration) {
    if (!key.starts_with(kConstraintPrefix)) continue;
    const std::string name = key.substr(kConstraintPrefix.size());
    addCheck(name, sql, needed("the constraint " + name));
  }
}

void RowRules::addLengths(int column) {
  const StructField& field = schema_->fields()[static_cast<size_t>(column)];
  StringBounds bounds = stringBoundsOf(*field.type, field.metadata);
  if (bounds.empty() && hasMetadataKey(field.metadata, kCharVarcharKey)) {
    throw unsupported("the lengths of column " + field.name + ", '" +
                      metadataText(field.metadata, kCharVarcharKey).value_or("") +
                      "', which do not fit its type");
  }
  if (hasBounds(bounds)) lengths_.push_back({column, std::move(bounds)});
}

void RowRules::addGenerated(int column, const std::string& sql, bool given,
                            const ExpressionEvaluator& evaluator) {
  const StructField& field = schema_->fields()[static_cast<size_t>(column)];
  if (!given) {
    generated_.push_back({column, evaluator.compile(sql, schema_, field.type)});
    return;
  }
  addCheck("Generated Column", generationCheck(field.name, sql), evaluator);
}

void RowRules::addCheck(std::string name, const std::string& sql, const ExpressionEvaluator& evaluator) {
  checks_.push_back(
      {std::move(name), sql, evaluator.compile(sql, schema_, DataType::primitive(TypeId::Boolean))});
}

void RowRules::requireReplaceWhere(const std::string& sql, const ExpressionEvaluator& evaluator) {
  addCheck("", sql, evaluator);
  checks_.back().isReplaceWhere = true;
  const RowExpression& condition = *checks_.back().condition;
  if (!condition.columns().empty()) return;
  arrow::ArrayVector nulls;
  const auto schema = toArrowSchema(*schema_);
  for (const auto& field : schema->fields())
    nulls.push_back(valueOrThrow(arrow::MakeArrayOfNull(field->type(), 1)));
  const auto one = condition.evaluate(*arrow::RecordBatch::Make(schema, 1, std::move(nulls)));
  // What is false of every row replaces none: the rows are added, as in Spark.
  if (one->IsValid(0) && !static_cast<const arrow::BooleanArray&>(*one).Value(0)) checks_.pop_back();
}

void RowRules::check(const Check& rule, const arrow::RecordBatch& rows) const {
  const auto outcome = rule.condition->evaluate(rows);
  const auto& passed = static_cast<const arrow::BooleanArray&>(*outcome);
  if (passed.true_count() == rows.num_rows()) return;
  int64_t row = 0;
  while (passed.IsValid(row) && passed.Value(row)) ++row;
  std::string values;
  for (const int column : rule.condition->columns()) {
    values += "\n - " + schema_->fields()[static_cast<size_t>(column)].name + " : " +
              valueOrThrow(rows.column(column)->GetScalar(row))->ToString();
  }
  if (rule.isReplaceWhere) {
    throw Error("DELTA_REPLACE_WHERE_MISMATCH",
                "A row to be written is not among those that it replaces ('" + rule.sql + "'):" + values,
                {{"replaceWhere", rule.sql}, {"message", values}});
  }
  throw Error(
      "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES",
      "CHECK constraint " + rule.name + " (" + rule.sql + ") is violated by a row with the values:" + values,
      {{"constraintName", rule.name}, {"expression", rule.sql}, {"values", values}});
}

std::shared_ptr<arrow::RecordBatch> RowRules::apply(std::shared_ptr<arrow::RecordBatch> rows) const {
  const auto put = [&](int column, const std::shared_ptr<arrow::Array>& values) {
    rows = valueOrThrow(rows->SetColumn(column, rows->schema()->field(column), values));
  };
  for (const Filled& one : defaults_) put(one.column, one.value->evaluate(*rows));
  for (const auto& identity : identities_) put(identity->column, identity->next(rows->num_rows()));
  for (const Filled& one : generated_) put(one.column, one.value->evaluate(*rows));
  if (hasNotNull_) checkNotNull(*rows, *schema_);
  for (const Lengths& one : lengths_) {
    const StructField& field = schema_->fields()[static_cast<size_t>(one.column)];
    LengthCheck(one.bounds).check(rows->column(one.column), *field.type, field.name);
  }
  for (const Check& rule : checks_) check(rule, *rows);
  return rows;
}

std::optional<std::string> RowRules::schemaAfter(const Metadata& metadata) const {
  if (identities_.empty()) return std::nullopt;
  std::vector<StructField> fields = metadata.schema()->fields();
  bool moved = false;
  for (const auto& identity : identities_) {
    const int64_t count = identity->given;
    if (count == 0) continue;
    moved = true;
    StructField& field = fields[static_cast<size_t>(identity->column)];
    field.metadata = withMetadataKey(field.metadata, kIdentityHighWaterMark,
                                     std::to_string(identity->valueAt(identity->first, count - 1)));
  }
  if (!moved) return std::nullopt;
  return toSchemaJson(*DataType::structOf(std::move(fields)));
}

}  // namespace thalweg::delta
