#include "common/config_keys.h"

#include <algorithm>

namespace thalweg {

const std::vector<ConfigKey>& configKeys() {
  static const std::vector<ConfigKey> keys = [] {
    std::vector<ConfigKey> table = {
        {"spark.connect.execute.reattachable.senderMaxStreamDuration", "2m"},
        {"spark.connect.execute.reattachable.senderMaxStreamSize", "1g"},
        {"spark.connect.session.planCompression.defaultAlgorithm", "ZSTD"},
        {"spark.connect.session.planCompression.threshold", "10485760"},
        {"spark.databricks.delta.retentionDurationCheck.enabled", "true"},
        {"spark.databricks.delta.schema.autoMerge.enabled", "false"},
        {"spark.default.parallelism", "2"},
        {"spark.python.sql.dataFrameDebugging.enabled", "true"},
        {"spark.sql.ansi.enabled", "true"},
        {"spark.sql.caseSensitive", "false"},
        {"spark.sql.columnNameOfCorruptRecord", "_corrupt_record"},
        {"spark.sql.connect.serverStacktrace.enabled", "true"},
        {"spark.sql.execution.arrow.maxRecordsPerBatch", "10000"},
        {"spark.sql.execution.arrow.pyspark.enabled", "false"},
        {"spark.sql.execution.arrow.pyspark.fallback.enabled", "true"},
        {"spark.sql.execution.arrow.pyspark.selfDestruct.enabled", "false"},
        {"spark.sql.execution.arrow.useLargeVarTypes", "false"},
        {"spark.sql.execution.pandas.convertToArrowArraySafely", "false"},
        {"spark.sql.execution.pandas.inferPandasDictAsMap", "false"},
        {"spark.sql.execution.pandas.structHandlingMode", "legacy"},
        {"spark.sql.execution.pyspark.binaryAsBytes", "true"},
        {"spark.sql.execution.pythonUDF.arrow.enabled", "true"},
        {"spark.sql.execution.pythonUDTF.arrow.enabled", "false"},
        {"spark.sql.legacy.timeParserPolicy", "CORRECTED"},
        {"spark.sql.parquet.compression.codec", "snappy"},
        {"spark.sql.parquet.outputTimestampType", "INT96"},
        {"spark.sql.pyspark.inferNestedDictAsStruct.enabled", "false"},
        {"spark.sql.pyspark.jvmStacktrace.enabled", "false"},
        {"spark.sql.pyspark.legacy.inferArrayTypeFromFirstElement.enabled", "false"},
        {"spark.sql.pyspark.legacy.inferMapTypeFromFirstPair.enabled", "false"},
        {"spark.sql.readSideCharPadding", "true"},
        {"spark.sql.repl.eagerEval.enabled", "false"},
        {"spark.sql.repl.eagerEval.maxNumRows", "20"},
        {"spark.sql.repl.eagerEval.truncate", "20"},
        {"spark.sql.session.localRelationBatchOfChunksSizeBytes", "1073741824"},
        {"spark.sql.session.localRelationCacheThreshold", "1048576"},
        {"spark.sql.session.localRelationChunkSizeBytes", "16777216"},
        {"spark.sql.session.localRelationChunkSizeRows", "10000"},
        {"spark.sql.session.localRelationSizeLimit", "3221225472"},
        {"spark.sql.shuffle.partitions", "200"},
        {"spark.sql.sources.default", "parquet"},
        {"spark.sql.sources.partitionOverwriteMode", "static"},
        {"spark.sql.storeAssignmentPolicy", "ANSI"},
        {"spark.sql.streaming.minBatchesToRetain", "100"},
        {"spark.sql.streaming.multipleWatermarkPolicy", "min"},
        {"spark.sql.streaming.noDataMicroBatches.enabled", "true"},
        {"spark.sql.streaming.noDataProgressEventInterval", "10000"},
        {"spark.sql.streaming.numRecentProgressUpdates", "100"},
        {"spark.sql.streaming.pollingDelay", "10"},
        {"spark.sql.streaming.stateStore.providerClass",
         "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"},
        {"spark.sql.streaming.stateStore.rocksdb.boundedMemoryUsage", "false"},
        {"spark.sql.streaming.stateStore.rocksdb.maxMemoryUsageMB", "500"},
        {"spark.sql.streaming.stopActiveRunOnRestart", "true"},
        {"spark.sql.streaming.stopTimeout", "0"},
        {"spark.sql.timestampType", "TIMESTAMP_LTZ"},
    };
    std::sort(table.begin(), table.end(), [](const ConfigKey& a, const ConfigKey& b) { return a.name < b.name; });
    return table;
  }();
  return keys;
}

std::optional<std::string> configDefault(std::string_view name) {
  const auto& keys = configKeys();
  auto it = std::lower_bound(keys.begin(), keys.end(), name, [](const ConfigKey& key, std::string_view wanted) { return key.name < wanted; });
  if (it == keys.end() || it->name != name) return std::nullopt;
  return std::string(it->defaultValue);
}

}  // namespace thalweg
