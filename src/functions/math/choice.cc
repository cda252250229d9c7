// The greatest and the least of several values; random numbers.
#include <atomic>
#include <cmath>
#include <numbers>

#include <arrow/api.h>

#include "columnar/key_encoder.h"
#include "common/error.h"
#include "functions/coercion.h"
#include "functions/math/tables.h"
#include "functions/row_kernels.h"
#include "functions/signature.h"

namespace thalweg {
namespace {

// Nulls are left out; NaN is above everything.
ExpressionPtr resolveExtreme(const FunctionCall& call, const FunctionContext& context) {
  const bool greatest = equalsIgnoreCase(call.name, "greatest");
  const DataTypePtr type = commonType(call.arguments, context);
  const std::string name = greatest ? "greatest" : "least";
  if (!type) {
    std::string types;
    for (const ExpressionPtr& argument : call.arguments) types += (types.empty() ? "\"" : ", \"") + argument->type()->sqlString() + "\"";
    throw Error("DATATYPE_MISMATCH.DATA_DIFF_TYPES", name + " takes values of types that go together, not " + types + ".",
                {{"sqlExpr", "\"" + name + "\""}, {"functionName", "`" + name + "`"}, {"dataType", "[" + types + "]"}});
  }
  std::vector<ExpressionPtr> arguments;
  bool nullable = true;
  for (const ExpressionPtr& argument : call.arguments) {
    arguments.push_back(castTo(argument, type, context.castMode()));
    nullable = nullable && argument->nullable();
  }
  if (type->id() == TypeId::Void) return Literal::null(type);
  auto kernel = [type, greatest](const KernelContext& c, const std::vector<arrow::Datum>& a) -> arrow::Datum {
    std::vector<std::shared_ptr<arrow::Array>> arrays;
    for (const arrow::Datum& argument : a) arrays.push_back(argumentArray(c, argument));
    const KeyEncoder encoder({{type}});
    std::vector<int8_t> choice(static_cast<size_t>(c.numRows), -1);
    std::string best, key;
    c.selection.forEach([&](int64_t row) {
      for (size_t i = 0; i < arrays.size(); ++i) {
        if (arrays[i]->IsNull(row)) continue;
        key.clear();
        encoder.append({arrays[i]}, row, &key);
        const int8_t chosen = choice[static_cast<size_t>(row)];
        if (chosen >= 0 && (greatest ? key <= best : key >= best)) continue;
        choice[static_cast<size_t>(row)] = static_cast<int8_t>(i);
        best.swap(key);
      }
    });
    return interleaveRows(*type, arrays, choice, c.evaluation.memoryPool());
  };
  if (arguments.size() > 127) throw unsupported(name + " of more than 127 values");
  auto traits = std::make_shared<FunctionTraits>();
  traits->name = name;
  return std::make_shared<Call>(std::move(traits), std::move(arguments), type, nullable, kernel);
}

uint64_t mixed(uint64_t state) {
  state += 0x9E3779B97F4A7C15ULL;
  state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9ULL;
  state = (state ^ state >> 27) * 0x94D049BB133111EBULL;
  return state ^ state >> 31;
}

double uniform(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1.0p-53; }

// Uniform in [0, 1), or of the normal distribution. A seed makes a single-threaded run repeatable; the numbers are not Spark's.
ExpressionPtr resolveRandom(const FunctionCall& call, const FunctionContext& context) {
  const bool normal = equalsIgnoreCase(call.name, "randn");
  int64_t seed = static_cast<int64_t>(mixed(static_cast<uint64_t>(nextExpressionId())));
  bool seeded = false;
  if (!call.arguments.empty()) {
    const auto value = constantArgument(implicitCast(call.arguments[0], longType(), call.name, 1, context), call.name, "seed");
    seed = value->is_valid ? static_cast<const arrow::Int64Scalar&>(*value).value : 0;
    seeded = true;
  }
  auto counter = std::make_shared<std::atomic<uint64_t>>(0);
  auto kernel = [=](const KernelContext& c, const std::vector<arrow::Datum>&) -> arrow::Datum {
    const uint64_t base = seeded ? static_cast<uint64_t>(seed) + static_cast<uint64_t>(c.evaluation.partition)
                                 : static_cast<uint64_t>(seed) ^ static_cast<uint64_t>(c.evaluation.batch->randomSeed);
    uint64_t next = counter->fetch_add(static_cast<uint64_t>(2 * c.numRows));
    ResultWriter<double> result(c.resultType, c.numRows, c.evaluation.memoryPool());
    for (int64_t row = 0; row < c.numRows; ++row, next += 2) {
      const double one = uniform(mixed(mixed(base) + next));
      if (!normal) {
        result.append(one);
        continue;
      }
      const double two = uniform(mixed(mixed(base) + next + 1));
      result.append(std::sqrt(-2 * std::log(1 - one)) * std::cos(2 * std::numbers::pi * two));
    }
    return result.finish();
  };
  auto traits = std::make_shared<FunctionTraits>();
  traits->name = toLowerAscii(call.name);
  traits->deterministic = false;
  return std::make_shared<Call>(std::move(traits), call.arguments, doubleType(), false, kernel);
}

}  // namespace

std::vector<FunctionRow> choiceRows() {
  return {
      {"greatest", 2, -1, resolveExtreme}, {"least", 2, -1, resolveExtreme}, {"rand", 0, 1, resolveRandom},
      {"random", 0, 1, resolveRandom},     {"randn", 0, 1, resolveRandom},
  };
}

}  // namespace thalweg
