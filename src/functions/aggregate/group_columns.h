// What accumulators share: columns indexed by group.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include <arrow/api.h>

#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {

using Arrays = std::vector<std::shared_ptr<arrow::Array>>;
using GroupsOfRows = std::span<const uint32_t>;

// Sets the values of groups to their type's default.
template <typename T>
void clear(GroupsOfRows groups, std::vector<T>* values) {
  for (const uint32_t group : groups) (*values)[group] = T();
}

// The values of groups as an array; null where there is none.
inline std::shared_ptr<arrow::Array> scalars(const DataType& type,
                                             const std::vector<std::shared_ptr<arrow::Scalar>>& values,
                                             GroupsOfRows groups, arrow::MemoryPool* pool) {
  std::unique_ptr<arrow::ArrayBuilder> builder;
  throwIfFailed(arrow::MakeBuilder(pool, toArrowType(type), &builder));
  for (const uint32_t group : groups)
    throwIfFailed(values[group] ? builder->AppendScalar(*values[group]) : builder->AppendNull());
  return valueOrThrow(builder->Finish());
}

}  // namespace thalweg
