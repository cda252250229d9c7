#include "exec/state/session_state.h"

#include "columnar/row_hash.h"
#include "exec/state/aggregate_buffers.h"

namespace thalweg {
namespace {

std::vector<StructField> otherFields(const std::vector<StructField>& grouping, size_t session) {
  std::vector<StructField> fields = grouping;
  fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(session));
  return fields;
}

SchemaPtr storedKeyOf(const std::vector<StructField>& grouping, size_t session) {
  std::vector<StructField> fields = otherFields(grouping, session);
  fields.push_back({"sessionStartTime", timestampType(), false});
  return DataType::structOf(std::move(fields));
}

SchemaPtr storedValueOf(std::vector<StructField> fields, size_t session, const Aggregates& aggregates) {
  fields[session].name = "session_window";
  for (const auto& aggregator : makeAggregators(aggregates)) {
    for (const StructField& field : aggregator->bufferFields()) fields.push_back(field);
  }
  return DataType::structOf(std::move(fields));
}

}  // namespace

SessionStateLayout::SessionStateLayout(std::vector<StructField> groupingFields, size_t sessionColumn,
                                       Aggregates calls)
    : grouping(std::move(groupingFields)),
      session(sessionColumn),
      aggregates(std::move(calls)),
      keys(DataType::structOf(otherFields(grouping, session))),
      storedKey(storedKeyOf(grouping, session)),
      storedValue(storedValueOf(grouping, session, aggregates)),
      keysEncoder(fieldTypes(*keys), BinaryRowEncoder::Floats::Normalize),
      storedKeyEncoder(fieldTypes(*storedKey), BinaryRowEncoder::Floats::Normalize),
      storedValueEncoder(fieldTypes(*storedValue)),
      storedKeys(fieldTypes(*storedKey), keys->fields().size()) {}

PartialSessions::PartialSessions(const SessionStateLayout& layout, Groups& groups, int numPartitions)
    : aggregators(groups.aggregators()), ofPartition(static_cast<size_t>(numPartitions)) {
  const int64_t count = groups.numGroups();
  auto columns = groups.takeKeys();
  sessions.append(*columns[layout.session]);
  columns.erase(columns.begin() + static_cast<std::ptrdiff_t>(layout.session));
  layout.keysEncoder.encode(columns, 0, count, &keys);
  const std::vector<int32_t> partitions =
      partitionIds(fieldTypes(*layout.keys), columns, count, numPartitions);
  for (size_t session = 0; session < partitions.size(); ++session)
    ofPartition[static_cast<size_t>(partitions[session])].push_back(static_cast<uint32_t>(session));
}

}  // namespace thalweg
