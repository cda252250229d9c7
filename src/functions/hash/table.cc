// hash (Murmur3, seed 42) and xxhash64 over any values, as Spark computes them.
#include <algorithm>

#include <arrow/api.h>

#include "columnar/row_hash.h"
#include "common/error.h"
#include "functions/kernel_support.h"
#include "functions/registry.h"
#include "functions/row_kernels.h"

namespace thalweg {
namespace {

struct Murmur3 {
  using Hash = uint32_t;
  static constexpr auto fold = foldMurmur3;
};
struct XxHash64 {
  using Hash = uint64_t;
  static constexpr auto fold = foldXxHash64;
};

bool hasMap(const DataType& type) {
  if (type.id() == TypeId::Map) return true;
  if (type.id() == TypeId::Array) return hasMap(*type.element());
  if (type.id() != TypeId::Struct) return false;
  return std::any_of(type.fields().begin(), type.fields().end(), [](const StructField& field) { return hasMap(*field.type); });
}

template <typename H, typename Result>
ExpressionPtr resolveHash(const FunctionCall& call, const FunctionContext&) {
  const std::string name = toLowerAscii(call.name);
  std::vector<DataTypePtr> types;
  for (const ExpressionPtr& argument : call.arguments) {
    if (hasMap(*argument->type())) {
      throw Error("DATATYPE_MISMATCH.HASH_MAP_TYPE", "A map has no hash: its entries have no order.",
                  {{"sqlExpr", "\"" + name + "\""}, {"functionName", "`" + name + "`"}});
    }
    types.push_back(argument->type());
  }
  auto kernel = [types](const KernelContext& c, const std::vector<arrow::Datum>& a) -> arrow::Datum {
    std::vector<typename H::Hash> hashes(static_cast<size_t>(c.numRows), kRowHashSeed);
    for (size_t i = 0; i < a.size(); ++i) H::fold(*types[i], *argumentArray(c, a[i]), hashes);
    ResultWriter<Result> result(c.resultType, c.numRows, c.evaluation.memoryPool());
    for (const typename H::Hash hash : hashes) result.append(static_cast<Result>(hash));
    return result.finish();
  };
  auto traits = std::make_shared<FunctionTraits>();
  traits->name = name;
  return std::make_shared<Call>(std::move(traits), call.arguments, sizeof(Result) == 4 ? intType() : longType(), false, kernel);
}

}  // namespace

std::span<const FunctionRow> hashFunctions() {
  static const FunctionRow rows[] = {
      {"hash", 1, -1, resolveHash<Murmur3, int32_t>},
      {"xxhash64", 1, -1, resolveHash<XxHash64, int64_t>},
  };
  return rows;
}

}  // namespace thalweg
