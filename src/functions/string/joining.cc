// Texts put together: concat, concat_ws, elt, format_string.
#include <cstdio>

#include <arrow/api.h>
#include <arrow/compute/api.h>

#include "common/error.h"
#include "functions/coercion.h"
#include "functions/row_kernels.h"
#include "functions/signature.h"
#include "functions/string/tables.h"

namespace thalweg {
namespace {

using View = std::string_view;

// concat over any number of arguments of one kind.
arrow::Datum concatTexts(const KernelContext& context, const std::vector<arrow::Datum>& arguments) {
  std::vector<ValueReader<View>> readers;
  for (const arrow::Datum& argument : arguments) readers.emplace_back(argument);
  ResultWriter<TextResult> result(context.resultType, context.numRows, context.evaluation.memoryPool());
  std::string text;
  forEachRow(
      context,
      [&](int64_t row) {
        text.clear();
        for (const auto& reader : readers) {
          if (reader.isNull(row)) return result.appendNull();
          text += reader.value(row);
        }
        result.append(text);
      },
      [&] { result.appendNull(); });
  return result.finish();
}

arrow::Datum concatArrays(const KernelContext& context, const std::vector<arrow::Datum>& arguments) {
  std::vector<std::shared_ptr<arrow::ListArray>> lists;
  for (const arrow::Datum& argument : arguments) lists.push_back(argumentAs<arrow::ListArray>(context, argument));
  std::unique_ptr<arrow::ArrayBuilder> builder;
  throwIfFailed(arrow::MakeBuilder(context.evaluation.memoryPool(), toArrowType(context.resultType), &builder));
  auto& result = static_cast<arrow::ListBuilder&>(*builder);
  std::vector<arrow::ArraySpan> values;
  for (const auto& list : lists) values.emplace_back(*list->values()->data());
  forEachRow(
      context,
      [&](int64_t row) {
        for (const auto& list : lists) {
          if (list->IsNull(row)) return throwIfFailed(result.AppendNull());
        }
        throwIfFailed(result.Append());
        for (size_t i = 0; i < lists.size(); ++i) {
          throwIfFailed(result.value_builder()->AppendArraySlice(values[i], lists[i]->value_offset(row), lists[i]->value_length(row)));
        }
      },
      [&] { throwIfFailed(result.AppendNull()); });
  return valueOrThrow(result.Finish());
}

ExpressionPtr resolveConcat(const FunctionCall& call, const FunctionContext& context) {
  if (call.arguments.empty()) return makeCall("concat", {}, stringType(), [](const KernelContext&, const std::vector<arrow::Datum>&) -> arrow::Datum {
      return std::make_shared<arrow::StringScalar>("");
    });
  bool allBinary = true, anyArray = false;
  for (const ExpressionPtr& argument : call.arguments) {
    allBinary = allBinary && argument->type()->id() == TypeId::Binary;
    anyArray = anyArray || argument->type()->id() == TypeId::Array;
  }
  if (anyArray) {
    const DataTypePtr type = commonType(call.arguments, context);
    if (!type || type->id() != TypeId::Array) throwDifferentTypes("concat", *call.arguments[0], *call.arguments.back());
    std::vector<ExpressionPtr> arguments;
    for (const ExpressionPtr& argument : call.arguments) arguments.push_back(castTo(argument, type, context.castMode()));
    return makeCall("concat", arguments, type, concatArrays);
  }
  const DataTypePtr type = allBinary ? binaryType() : stringType();
  return makeCall("concat", coercedArguments(call, std::vector<DataTypePtr>(call.arguments.size(), type), context), type, concatTexts);
}

// Texts and arrays of texts, nulls left out; null only where the separator is.
ExpressionPtr resolveConcatWs(const FunctionCall& call, const FunctionContext& context) {
  std::vector<ExpressionPtr> arguments;
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    const bool list = i > 0 && call.arguments[i]->type()->id() == TypeId::Array;
    arguments.push_back(list ? castTo(call.arguments[i], DataType::array(stringType()), context.castMode())
                             : implicitCast(call.arguments[i], stringType(), "concat_ws", static_cast<int>(i) + 1, context));
  }
  auto kernel = [](const KernelContext& c, const std::vector<arrow::Datum>& a) -> arrow::Datum {
    const ValueReader<View> separator(a[0]);
    std::vector<std::shared_ptr<arrow::Array>> arrays;
    for (size_t i = 1; i < a.size(); ++i) arrays.push_back(argumentArray(c, a[i]));
    ResultWriter<TextResult> result(c.resultType, c.numRows, c.evaluation.memoryPool());
    std::string text;
    forEachRow(
        c,
        [&](int64_t row) {
          if (separator.isNull(row)) return result.appendNull();
          text.clear();
          bool first = true;
          auto add = [&](View part) {
            if (!first) text += separator.value(row);
            first = false;
            text += part;
          };
          for (const auto& array : arrays) {
            if (array->IsNull(row)) continue;
            if (array->type_id() != arrow::Type::LIST) {
              add(static_cast<const arrow::BinaryArray&>(*array).GetView(row));
              continue;
            }
            const auto& list = static_cast<const arrow::ListArray&>(*array);
            const auto& values = static_cast<const arrow::BinaryArray&>(*list.values());
            for (int64_t i = list.value_offset(row); i < list.value_offset(row + 1); ++i) {
              if (values.IsValid(i)) add(values.GetView(i));
            }
          }
          result.append(text);
        },
        [&] { result.appendNull(); });
    return result.finish();
  };
  return makeCall("concat_ws", arguments, stringType(), kernel);
}

// printf in Java's manner. One argument a conversion; the types were checked when the call was resolved only loosely.
class Formatter {
 public:
  Formatter(View format, std::string* out) : format_(format), out_(out) {}

  template <typename Argument>
  void run(size_t numArguments, Argument&& argument) {
    size_t next = 0;
    for (size_t at = 0; at < format_.size();) {
      if (format_[at] != '%') {
        *out_ += format_[at++];
        continue;
      }
      size_t end = at + 1;
      size_t index = 0;
      std::string flags;
      const size_t digits = format_.find_first_not_of("0123456789", end);
      if (digits != View::npos && format_[digits] == '$' && digits > end && digits - end < 6) {
        index = static_cast<size_t>(std::stoi(std::string(format_.substr(end, digits - end))));
        end = digits + 1;
      }
      while (end < format_.size() && View("-#+ 0,(").find(format_[end]) != View::npos) flags += format_[end++];
      std::string width;
      while (end < format_.size() && (std::isdigit(static_cast<unsigned char>(format_[end])) || format_[end] == '.')) width += format_[end++];
      if (end >= format_.size() || width.size() > 6) illegal();
      const char conversion = format_[end];
      at = end + 1;
      if (conversion == '%') *out_ += '%';
      else if (conversion == 'n') *out_ += '\n';
      else {
        const size_t which = index ? index - 1 : next++;
        if (which >= numArguments) illegal();
        argument(which, flags, width, conversion);
      }
    }
  }
  [[noreturn]] void illegal() const {
    throw Error("INVALID_PARAMETER_VALUE.FORMAT_STRING", "The format '" + std::string(format_) + "' does not go with its arguments.",
                {{"parameter", "`strfmt`"}, {"functionName", "`format_string`"}});
  }

 private:
  View format_;
  std::string* out_;
};

std::string upperAscii(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string grouped(std::string digits) {
  const size_t start = digits.starts_with('-') ? 1 : 0;
  const size_t point = std::min(digits.find('.'), digits.size());
  for (size_t at = point; at > start + 3; at -= 3) digits.insert(at - 3, 1, ',');
  return digits;
}

std::string padded(std::string text, const std::string& flags, const std::string& width) {
  const auto wanted = static_cast<size_t>(std::atoi(width.c_str()));
  if (text.size() >= wanted) return text;
  if (flags.find('-') != std::string::npos) return text + std::string(wanted - text.size(), ' ');
  if (flags.find('0') != std::string::npos) {
    const size_t sign = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
    return text.substr(0, sign) + std::string(wanted - text.size(), '0') + text.substr(sign);
  }
  return std::string(wanted - text.size(), ' ') + text;
}

std::string formatInteger(int64_t value, int bits, char conversion, const std::string& flags) {
  const uint64_t mask = bits == 64 ? ~0ULL : (1ULL << bits) - 1;
  char buffer[64];
  switch (conversion) {
    case 'd': {
      std::string text = std::to_string(value);
      if (flags.find(',') != std::string::npos) text = grouped(text);
      if (value >= 0 && flags.find('+') != std::string::npos) text = "+" + text;
      else if (value >= 0 && flags.find(' ') != std::string::npos) text = " " + text;
      return text;
    }
    case 'o': std::snprintf(buffer, sizeof(buffer), "%llo", static_cast<unsigned long long>(static_cast<uint64_t>(value) & mask)); return buffer;
    case 'X': std::snprintf(buffer, sizeof(buffer), "%llX", static_cast<unsigned long long>(static_cast<uint64_t>(value) & mask)); return buffer;
    default: std::snprintf(buffer, sizeof(buffer), "%llx", static_cast<unsigned long long>(static_cast<uint64_t>(value) & mask)); return buffer;
  }
}

std::string formatFraction(double value, char conversion, const std::string& flags, const std::string& width) {
  const size_t point = width.find('.');
  const int precision = std::min(point == std::string::npos ? 6 : std::atoi(width.c_str() + point + 1), 300);
  char buffer[700];
  if (conversion == 'e' || conversion == 'E') std::snprintf(buffer, sizeof(buffer), conversion == 'e' ? "%.*e" : "%.*E", precision, value);
  else if (conversion == 'g') std::snprintf(buffer, sizeof(buffer), "%.*g", precision, value);
  else std::snprintf(buffer, sizeof(buffer), "%.*f", precision, value);
  std::string text = buffer;
  if (flags.find(',') != std::string::npos) text = grouped(text);
  if (value >= 0 && flags.find('+') != std::string::npos) text = "+" + text;
  return text;
}

ExpressionPtr resolveFormat(const FunctionCall& call, const FunctionContext& context) {
  std::vector<ExpressionPtr> arguments = {implicitCast(call.arguments[0], stringType(), "format_string", 1, context)};
  std::vector<TypeId> types;
  for (size_t i = 1; i < call.arguments.size(); ++i) {
    // Whole numbers as longs, fractions as doubles, all else as text.
    const DataType& type = *call.arguments[i]->type();
    types.push_back(type.id());
    const DataTypePtr as = type.isIntegral() ? longType() : type.isNumeric() ? doubleType() : stringType();
    arguments.push_back(castTo(call.arguments[i], as, CastMode::Legacy));
  }
  auto kernel = [types](const KernelContext& c, const std::vector<arrow::Datum>& a) -> arrow::Datum {
    const ValueReader<View> formats(a[0]);
    std::vector<std::shared_ptr<arrow::Array>> arrays;
    for (size_t i = 1; i < a.size(); ++i) arrays.push_back(argumentArray(c, a[i]));
    ResultWriter<TextResult> result(c.resultType, c.numRows, c.evaluation.memoryPool());
    std::string text;
    forEachRow(
        c,
        [&](int64_t row) {
          if (formats.isNull(row)) return result.appendNull();
          text.clear();
          Formatter formatter(formats.value(row), &text);
          formatter.run(arrays.size(), [&](size_t which, const std::string& flags, const std::string& width, char conversion) {
            const arrow::Array& array = *arrays[which];
            std::string part;
            if (array.IsNull(row)) part = "null";
            else if (View("doxX").find(conversion) != View::npos) {
              if (array.type_id() != arrow::Type::INT64) formatter.illegal();
              const TypeId type = types[which];
              const int bits = type == TypeId::Byte ? 8 : type == TypeId::Short ? 16 : type == TypeId::Int ? 32 : 64;
              part = formatInteger(static_cast<const arrow::Int64Array&>(array).Value(row), bits, conversion, flags);
            } else if (View("eEfg").find(conversion) != View::npos) {
              if (array.type_id() != arrow::Type::DOUBLE) formatter.illegal();
              part = formatFraction(static_cast<const arrow::DoubleArray&>(array).Value(row), conversion, flags, width);
            } else if (conversion == 's' || conversion == 'S' || conversion == 'b' || conversion == 'c') {
              if (array.type_id() == arrow::Type::INT64) part = std::to_string(static_cast<const arrow::Int64Array&>(array).Value(row));
              else if (array.type_id() == arrow::Type::DOUBLE) part = valueOrThrow(array.GetScalar(row))->ToString();
              else part = static_cast<const arrow::BinaryArray&>(array).GetString(row);
              const size_t point = width.find('.');
              if (point != std::string::npos) part.resize(std::min(part.size(), static_cast<size_t>(std::atoi(width.c_str() + point + 1))));
              if (conversion == 'S') part = upperAscii(part);
            } else {
              formatter.illegal();
            }
            text += padded(part, flags, width);
          });
          result.append(text);
        },
        [&] { result.appendNull(); });
    return result.finish();
  };
  return makeCall(toLowerAscii(call.name), arguments, stringType(), kernel);
}

// elt(n, a, b, …): the n-th of the others.
ExpressionPtr resolveElt(const FunctionCall& call, const FunctionContext& context) {
  const size_t count = call.arguments.size();
  bool binary = true;
  for (size_t i = 1; i < count; ++i) binary = binary && call.arguments[i]->type()->id() == TypeId::Binary;
  std::vector<DataTypePtr> parameters(count, binary ? binaryType() : stringType());
  parameters[0] = intType();
  const bool ansi = context.ansi;
  auto kernel = [ansi](const KernelContext& c, const std::vector<arrow::Datum>& a) -> arrow::Datum {
    const ValueReader<int32_t> index(a[0]);
    std::vector<ValueReader<View>> values;
    for (size_t i = 1; i < a.size(); ++i) values.emplace_back(a[i]);
    ResultWriter<TextResult> result(c.resultType, c.numRows, c.evaluation.memoryPool());
    forEachRow(
        c,
        [&](int64_t row) {
          if (index.isNull(row)) return result.appendNull();
          const int32_t at = index.value(row);
          if (at < 1 || at > static_cast<int32_t>(values.size())) {
            if (!ansi) return result.appendNull();
            throw Error("INVALID_ARRAY_INDEX", "elt has " + std::to_string(values.size()) + " values, none at " + std::to_string(at) + ".",
                        {{"indexValue", std::to_string(at)}, {"arraySize", std::to_string(values.size())}, {"ansiConfig", "\"spark.sql.ansi.enabled\""}});
          }
          const auto& value = values[static_cast<size_t>(at - 1)];
          if (value.isNull(row)) result.appendNull();
          else result.append(value.value(row));
        },
        [&] { result.appendNull(); });
    return result.finish();
  };
  return makeCall("elt", coercedArguments(call, parameters, context), parameters[1], kernel, true);
}

}  // namespace

std::vector<FunctionRow> joiningRows() {
  return {
      {"concat", 0, -1, resolveConcat},          {"||", 2, 2, resolveConcat}, {"concat_ws", 1, -1, resolveConcatWs},
      {"format_string", 1, -1, resolveFormat}, {"printf", 1, -1, resolveFormat}, {"elt", 2, -1, resolveElt},
  };
}

}  // namespace thalweg
