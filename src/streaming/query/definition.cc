#include "streaming/query/definition.h"

namespace thalweg {

const std::map<std::string, std::string>& loggedConfigurationDefaults() {
  static const std::map<std::string, std::string> defaults = {
      {"spark.sql.function.protobufExtensions.enabled", "false"},
      {"spark.sql.optimizer.pruneFiltersCanPruneStreamingSubplan", "false"},
      {"spark.sql.shuffle.partitions", "200"},
      {"spark.sql.streaming.aggregation.stateFormatVersion", "2"},
      {"spark.sql.streaming.flatMapGroupsWithState.stateFormatVersion", "2"},
      {"spark.sql.streaming.join.stateFormatVersion", "2"},
      {"spark.sql.streaming.multipleWatermarkPolicy", "min"},
      {"spark.sql.streaming.queryEvolution.enableSourceEvolution", "false"},
      {"spark.sql.streaming.stateStore.compression.codec", "lz4"},
      {"spark.sql.streaming.stateStore.encodingFormat", "unsaferow"},
      {"spark.sql.streaming.stateStore.providerClass",
       "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"},
      {"spark.sql.streaming.stateStore.rocksdb.formatVersion", "5"},
      {"spark.sql.streaming.stateStore.rocksdb.mergeOperatorVersion", "2"},
      {"spark.sql.streaming.stateStore.rowChecksum.enabled", "false"},
      {"spark.sql.streaming.statefulOperator.useStrictDistribution", "true"},
  };
  return defaults;
}

}  // namespace thalweg
