// The running values of aggregates on their way to the state's form and back.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include <arrow/type_fwd.h>

#include "exec/operators/groups.h"

namespace thalweg {

using BufferColumns = std::vector<std::shared_ptr<arrow::Array>>;

// Appends the columns of all aggregators' buffers, a row a group.
void saveBuffers(const Aggregators& aggregators, std::span<const uint32_t> groups, BufferColumns* columns);
// Sets groups, which are empty, to what was saved: all aggregators' columns, one after the other.
void loadBuffers(const Aggregators& aggregators, std::span<const uint32_t> groups,
                 std::span<const std::shared_ptr<arrow::Array>> columns);
// The same values under other numbers, none left between: groups[i] is i.
Aggregators renumbered(const Aggregates& aggregates, const Aggregators& aggregators,
                       std::span<const uint32_t> groups);
Aggregator::Bytes bytesOf(const Aggregators& aggregators);

}  // namespace thalweg
