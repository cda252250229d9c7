#include "delta/snapshot/table_properties.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "common/error.h"
#include "common/options.h"
#include "delta/snapshot/protocol_choice.h"
#include "delta/snapshot/table_features.h"

namespace thalweg::delta {
namespace {

enum class Takes { Any, Flag, Interval, PositiveNumber, Policy };

struct Property {
  std::string_view name;
  Takes takes = Takes::Any;
};

// Delta 4.4's, but for those that catalogs and Iceberg's formats bring.
constexpr Property kProperties[] = {
    {"delta.appendOnly", Takes::Flag},
    {"delta.autoOptimize"},
    {"delta.autoOptimize.autoCompact"},
    {"delta.autoOptimize.optimizeWrite", Takes::Flag},
    {"delta.checkpoint.writeStatsAsJson", Takes::Flag},
    {"delta.checkpoint.writeStatsAsStruct", Takes::Flag},
    {"delta.checkpointInterval", Takes::PositiveNumber},
    {"delta.checkpointPolicy", Takes::Policy},
    {"delta.checkpointRetentionDuration", Takes::Interval},
    {"delta.columnMapping.maxColumnId"},
    {"delta.columnMapping.mode"},
    {"delta.compatibility.symlinkFormatManifest.enabled", Takes::Flag},
    {"delta.dataSkippingNumIndexedCols"},
    {"delta.dataSkippingStatsColumns"},
    {"delta.dataSkippingStringPrefixLength"},
    {"delta.deletedFileRetentionDuration", Takes::Interval},
    {"delta.dropFeatureTruncateHistory.retentionDuration", Takes::Interval},
    {"delta.enableChangeDataFeed", Takes::Flag},
    {"delta.enableDeletionVectors", Takes::Flag},
    {"delta.enableExpiredLogCleanup", Takes::Flag},
    {"delta.enableFullRetentionRollback", Takes::Flag},
    {"delta.enableIcebergCompatV1", Takes::Flag},
    {"delta.enableIcebergCompatV2", Takes::Flag},
    {"delta.enableIcebergCompatV3", Takes::Flag},
    {"delta.enableInCommitTimestamps", Takes::Flag},
    {"delta.enableRowTracking", Takes::Flag},
    {"delta.enableTypeWidening", Takes::Flag},
    {"delta.enableVariantShredding", Takes::Flag},
    {"delta.inCommitTimestampEnablementTimestamp"},
    {"delta.inCommitTimestampEnablementVersion"},
    {"delta.isolationLevel"},
    {"delta.logRetentionDuration", Takes::Interval},
    {"delta.minReaderVersion"},
    {"delta.minWriterVersion"},
    {"delta.parquet.compression.codec"},
    {"delta.parquet.format.version"},
    {"delta.randomPrefixLength"},
    {"delta.randomizeFilePrefixes", Takes::Flag},
    {"delta.requireCheckpointProtectionBeforeVersion"},
    {"delta.rowTracking.materializedRowCommitVersionColumnName"},
    {"delta.rowTracking.materializedRowIdColumnName"},
    {"delta.rowTrackingSuspended", Takes::Flag},
    {"delta.sampleRetentionDuration", Takes::Interval},
    {"delta.setTransactionRetentionDuration", Takes::Interval},
    {"delta.targetFileSize"},
    {"delta.tuneFileSizesForRewrites"},
    {"delta.universalFormat.enabledFormats"},
};

const Property* findProperty(std::string_view name) {
  const auto found =
      std::find_if(std::begin(kProperties), std::end(kProperties),
                   [&](const Property& property) { return equalsIgnoreCase(property.name, name); });
  return found == std::end(kProperties) ? nullptr : found;
}

bool startsWithIgnoreCase(std::string_view text, std::string_view front) {
  return text.size() >= front.size() && equalsIgnoreCase(text.substr(0, front.size()), front);
}

bool isPositiveNumber(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value > 0;
}

[[noreturn]] void throwRefused(std::string_view name, std::string_view value, std::string_view takes) {
  const std::string change = std::string(name) + " = '" + std::string(value) + "'";
  throw Error("UNSUPPORTED_TABLE_CHANGE",
              "The table's property " + std::string(name) + " takes " + std::string(takes) + ", not '" +
                  std::string(value) + "'.",
              {{"change", change}});
}

}  // namespace

bool isTableProperty(std::string_view name) {
  return findProperty(name) != nullptr;
}

std::string tablePropertyName(std::string_view name) {
  if (const Property* property = findProperty(name)) return std::string(property->name);
  if (!startsWithIgnoreCase(name, kFeaturePrefix)) return std::string(name);
  return std::string(kFeaturePrefix) + std::string(name.substr(kFeaturePrefix.size()));
}

void checkTableProperty(std::string_view name, std::string_view value, bool allowUnknown) {
  if (!startsWithIgnoreCase(name, "delta.")) return;
  if (startsWithIgnoreCase(name, kFeaturePrefix) || startsWithIgnoreCase(name, "delta.constraints.")) return;
  const Property* property = findProperty(name);
  if (!property) {
    if (allowUnknown) return;
    throw Error(
        "DELTA_UNKNOWN_CONFIGURATION",
        "Delta knows no property " + std::string(name) +
            ". To set it all the same, set spark.databricks.delta.allowArbitraryProperties.enabled to true.",
        {{"config", std::string(name)},
         {"disableCheckConfig", "spark.databricks.delta.allowArbitraryProperties.enabled"}});
  }
  switch (property->takes) {
    case Takes::Any:
      return;
    case Takes::Flag:
      if (!equalsIgnoreCase(value, "true") && !equalsIgnoreCase(value, "false"))
        throwRefused(name, value, "true or false");
      return;
    case Takes::PositiveNumber:
      if (!isPositiveNumber(value)) throwRefused(name, value, "a number above 0");
      return;
    case Takes::Policy:
      if (!equalsIgnoreCase(value, "classic") && !equalsIgnoreCase(value, "v2"))
        throwRefused(name, value, "classic or v2");
      return;
    case Takes::Interval:
      if (parseRetentionMs(value)) return;
      throw Error("DELTA_INVALID_INTERVAL",
                  "The table's property " + std::string(name) +
                      " takes an interval of weeks, days, hours, minutes and "
                      "seconds (interval 30 days), not '" +
                      std::string(value) + "'.",
                  {{"interval", std::string(value)}});
  }
}

}  // namespace thalweg::delta
