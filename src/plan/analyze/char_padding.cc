#include "plan/analyze/char_padding.h"

#include <algorithm>

#include <arrow/api.h>

#include "common/options.h"
#include "expr/call.h"
#include "expr/constant_folding.h"
#include "types/arrow_result.h"
#include "types/char_varchar.h"

namespace thalweg {
namespace {

bool isFullLength(const arrow::StringArray& values, int length) {
  for (int64_t row = 0; row < values.length(); ++row) {
    if (values.IsValid(row) && numCharacters(values.GetView(row)) < length) return false;
  }
  return true;
}

std::shared_ptr<arrow::Array> padStrings(const std::shared_ptr<arrow::Array>& array, int length,
                                         arrow::MemoryPool* pool) {
  const auto& values = static_cast<const arrow::StringArray&>(*array);
  if (isFullLength(values, length)) return array;
  arrow::StringBuilder builder(pool);
  throwIfFailed(builder.Reserve(values.length()));
  std::string padded;
  for (int64_t row = 0; row < values.length(); ++row) {
    if (values.IsNull(row)) {
      builder.UnsafeAppendNull();
      continue;
    }
    padded = values.GetView(row);
    padded.append(static_cast<size_t>(std::max<int64_t>(0, length - numCharacters(padded))), ' ');
    throwIfFailed(builder.Append(padded));
  }
  return valueOrThrow(builder.Finish());
}

// Pads all CHAR values in an array of a type; parts without any are shared.
class Padder {
 public:
  Padder(const StringBounds& bounds, arrow::MemoryPool* pool) : bounds_(bounds), pool_(pool) {}

  std::shared_ptr<arrow::Array> pad(const std::shared_ptr<arrow::Array>& array, const DataType& type) {
    switch (type.id()) {
      case TypeId::String: {
        const StringBound& bound = bounds_[next_++];
        return bound.kind == StringBound::Kind::Char ? padStrings(array, bound.length, pool_) : array;
      }
      case TypeId::Array:
        return withChildren(array, {type.element()});
      case TypeId::Map: {
        // An Arrow map has one child, the struct of its entries.
        const auto entries = DataType::structOf({{"key", type.key()}, {"value", type.value()}});
        return withChildren(array, {entries});
      }
      case TypeId::Struct: {
        std::vector<DataTypePtr> children;
        for (const StructField& field : type.fields()) children.push_back(field.type);
        return withChildren(array, children);
      }
      default:
        return array;
    }
  }

 private:
  std::shared_ptr<arrow::Array> withChildren(const std::shared_ptr<arrow::Array>& array,
                                             const std::vector<DataTypePtr>& types) {
    auto data = array->data()->Copy();
    for (size_t i = 0; i < types.size(); ++i)
      data->child_data[i] = pad(arrow::MakeArray(data->child_data[i]), *types[i])->data();
    return arrow::MakeArray(data);
  }

  const StringBounds& bounds_;
  arrow::MemoryPool* pool_;
  size_t next_ = 0;
};

ExpressionPtr padded(const ExpressionPtr& value, StringBounds bounds) {
  static const auto traits = [] {
    auto made = std::make_shared<FunctionTraits>();
    made->name = "rpad";
    made->format = [](const std::vector<std::string>& arguments) { return arguments[0]; };
    return made;
  }();
  const DataTypePtr type = value->type();
  Kernel kernel = [bounds = std::move(bounds), type](
                      const KernelContext& context,
                      const std::vector<arrow::Datum>& arguments) -> arrow::Datum {
    Padder padder(bounds, context.evaluation.memoryPool());
    if (arguments[0].is_array()) return padder.pad(arguments[0].make_array(), *type);
    const auto one = valueOrThrow(arrow::MakeArrayFromScalar(*arguments[0].scalar(), 1));
    return valueOrThrow(padder.pad(one, *type)->GetScalar(0));
  };
  return std::make_shared<Call>(traits, std::vector<ExpressionPtr>{value}, type, value->nullable(),
                                std::move(kernel));
}

StringBounds charsOf(const Attribute& column) {
  StringBounds bounds = stringBoundsOf(*column.type(), column.metadata());
  return hasChars(bounds) ? bounds : StringBounds();
}

// The length of a CHAR column, 0 of anything else.
int charLength(const Expression& expression) {
  if (expression.kind() != ExpressionKind::Attribute || expression.type()->id() != TypeId::String) return 0;
  const StringBounds bounds = charsOf(static_cast<const Attribute&>(expression));
  return bounds.empty() ? 0 : bounds[0].length;
}

// The characters of a literal text, −1 of anything else.
int textLength(const Expression& expression) {
  if (expression.kind() != ExpressionKind::Literal || expression.type()->id() != TypeId::String) return -1;
  const auto& literal = static_cast<const Literal&>(expression);
  if (literal.isNull()) return -1;
  return static_cast<int>(numCharacters(static_cast<const arrow::StringScalar&>(*literal.value()).view()));
}

bool isNull(const Expression& expression) {
  return expression.kind() == ExpressionKind::Literal && static_cast<const Literal&>(expression).isNull();
}

ExpressionPtr paddedTo(const ExpressionPtr& expression, int length) {
  if (expression->kind() != ExpressionKind::Literal)
    return padded(expression, {{StringBound::Kind::Char, length}});
  std::string text(
      static_cast<const arrow::StringScalar&>(*static_cast<const Literal&>(*expression).value()).view());
  text.append(static_cast<size_t>(std::max<int64_t>(0, length - numCharacters(text))), ' ');
  return Literal::of(std::move(text));
}

bool isComparison(std::string_view function) {
  for (const std::string_view name : {"=", "==", "<=>", "<", "<=", ">", ">=", "!=", "<>", "in", "between"}) {
    if (equalsIgnoreCase(function, name)) return true;
  }
  return false;
}

}  // namespace

LogicalPtr withPaddedChars(const LogicalPtr& scan) {
  std::vector<ExpressionPtr> columns;
  bool any = false;
  for (const AttributePtr& column : scan->output()) {
    StringBounds bounds = charsOf(*column);
    if (bounds.empty()) {
      columns.push_back(column);
      continue;
    }
    any = true;
    columns.push_back(std::make_shared<Alias>(padded(column, std::move(bounds)), column->name(),
                                              nextExpressionId(), column->metadata()));
  }
  return any ? std::make_shared<LogicalProject>(std::move(columns), scan) : scan;
}

ExpressionPtr overPaddedChars(const ExpressionPtr& expression) {
  return transformUp(expression, [](const ExpressionPtr& part) -> ExpressionPtr {
    if (part->kind() != ExpressionKind::Attribute) return part;
    StringBounds bounds = charsOf(static_cast<const Attribute&>(*part));
    return bounds.empty() ? part : padded(part, std::move(bounds));
  });
}

// A column is padded here too, whether its scan has done so or not: a stream's has not, nor a row that is
// being written.
void padComparison(std::string_view function, std::vector<ExpressionPtr>* arguments) {
  if (arguments->size() < 2 || !isComparison(function)) return;
  if (std::none_of(arguments->begin(), arguments->end(),
                   [](const ExpressionPtr& argument) { return charLength(*argument) > 0; }))
    return;
  const bool isList = equalsIgnoreCase(function, "in") || equalsIgnoreCase(function, "between");
  const BatchContext constants;
  std::vector<ExpressionPtr> folded;
  int length = 0;
  for (const ExpressionPtr& argument : *arguments) {
    folded.push_back(foldConstants(argument, EvaluationContext{&constants}));
    const int own = charLength(*folded.back());
    if (isNull(*folded.back())) continue;
    if (own > 0 ? isList && folded.size() > 1 : textLength(*folded.back()) < 0) return;
    length = std::max({length, own, textLength(*folded.back())});
  }
  for (ExpressionPtr& argument : folded) {
    if (!isNull(*argument) && (charLength(*argument) > 0 || textLength(*argument) < length))
      argument = paddedTo(argument, length);
  }
  *arguments = std::move(folded);
}

}  // namespace thalweg
