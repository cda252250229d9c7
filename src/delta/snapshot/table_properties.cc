#include "delta/snapshot/table_properties.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <utility>

#include "common/error.h"
#include "common/options.h"
#include "delta/snapshot/property_values.h"
#include "delta/snapshot/protocol_choice.h"
#include "delta/snapshot/statistics_columns.h"
#include "types/text/intervals.h"

namespace thalweg::delta {
namespace {

enum class Takes {
  Any,
  Nothing,  // Delta sets it, no user does
  Flag,
  Interval,
  PositiveInt,
  NaturalInt,
  NaturalLong,
  Long,
  NumColumns,
  Columns,
  Policy,
  Isolation,
  Codec,
  FileVersion,
  ReaderVersion,
  WriterVersion
};

struct Property {
  std::string_view name;
  Takes takes = Takes::Any;
};

// Delta 4.4's, but for those that catalogs and Iceberg's formats bring.
constexpr Property kProperties[] = {
    {"delta.appendOnly", Takes::Flag},
    {"delta.autoOptimize", Takes::Flag},
    {"delta.autoOptimize.autoCompact", Takes::Flag},
    {"delta.autoOptimize.optimizeWrite", Takes::Flag},
    {"delta.checkpoint.writeStatsAsJson", Takes::Flag},
    {"delta.checkpoint.writeStatsAsStruct", Takes::Flag},
    {"delta.checkpointInterval", Takes::PositiveInt},
    {"delta.checkpointPolicy", Takes::Policy},
    {"delta.checkpointRetentionDuration", Takes::Interval},
    {"delta.columnMapping.maxColumnId", Takes::Nothing},
    {"delta.columnMapping.mode"},
    {"delta.compatibility.symlinkFormatManifest.enabled", Takes::Flag},
    {"delta.dataSkippingNumIndexedCols", Takes::NumColumns},
    {"delta.dataSkippingStatsColumns", Takes::Columns},
    {"delta.dataSkippingStringPrefixLength", Takes::NaturalInt},
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
    {"delta.inCommitTimestampEnablementTimestamp", Takes::Long},
    {"delta.inCommitTimestampEnablementVersion", Takes::Long},
    {"delta.isolationLevel", Takes::Isolation},
    {"delta.logRetentionDuration", Takes::Interval},
    {"delta.minReaderVersion", Takes::ReaderVersion},
    {"delta.minWriterVersion", Takes::WriterVersion},
    {"delta.parquet.compression.codec", Takes::Codec},
    {"delta.parquet.format.version", Takes::FileVersion},
    {"delta.randomPrefixLength", Takes::PositiveInt},
    {"delta.randomizeFilePrefixes", Takes::Flag},
    {"delta.requireCheckpointProtectionBeforeVersion", Takes::NaturalLong},
    {"delta.rowTrackingSuspended", Takes::Flag},
    {"delta.sampleRetentionDuration", Takes::Interval},
    {"delta.setTransactionRetentionDuration", Takes::Interval},
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

// Whether the text is a number of this type not below `least`.
template <typename Number>
bool isNumber(std::string_view text, Number least) {
  const auto value = parsePropertyNumber(text);
  return value && std::in_range<Number>(*value) && static_cast<Number>(*value) >= least;
}

// "2.12.0": of Parquet's versions 1 and 2.
bool isFileVersion(std::string_view text) {
  if (!text.starts_with("1.") && !text.starts_with("2.")) return false;
  const size_t dot = text.find('.', 2);
  return dot != std::string_view::npos && isNumber<uint32_t>(text.substr(2, dot - 2), 0) &&
         isNumber<uint32_t>(text.substr(dot + 1), 0);
}

bool isOneOf(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return equalsIgnoreCase(text, word); });
}

[[noreturn]] void throwRefused(std::string_view name, std::string_view value, std::string_view takes) {
  const std::string change = std::string(name) + " = '" + std::string(value) + "'";
  throw Error("UNSUPPORTED_TABLE_CHANGE",
              "The table's property " + std::string(name) + " takes " + std::string(takes) + ", not '" +
                  std::string(value) + "'.",
              {{"change", change}});
}

void checkInterval(std::string_view name, std::string_view value) {
  if (value.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    throw Error("DELTA_INVALID_CALENDAR_INTERVAL_EMPTY",
                "The table's property " + std::string(name) + " takes an interval (interval 30 days).", {});
  }
  const auto milliseconds = parseRetentionMs(value);
  if (milliseconds && *milliseconds >= 0) return;
  if (milliseconds || countsMonths(value))
    throwRefused(name, value,
                 "an interval that is not negative, without months and years (interval 30 days)");
  throw Error("DELTA_INVALID_INTERVAL",
              "The table's property " + std::string(name) +
                  " takes an interval of weeks, days, hours, minutes and seconds (interval 30 days), not '" +
                  std::string(value) + "'.",
              {{"interval", std::string(value)}});
}

// Tables of Databricks may have been made with others, which writers obey.
void checkIsolation(std::string_view name, std::string_view value) {
  if (equalsIgnoreCase(value, "Serializable")) return;
  if (isOneOf(value, {"WriteSerializable", "SnapshotIsolation"})) throwRefused(name, value, "Serializable");
  throw Error(
      "DELTA_INVALID_ISOLATION_LEVEL",
      "The table's property " + std::string(name) + " takes Serializable, not '" + std::string(value) + "'.",
      {{"isolationLevel", std::string(value)}});
}

void checkValue(Takes takes, std::string_view name, std::string_view value) {
  const auto require = [&](bool holds, std::string_view what) {
    if (!holds) throwRefused(name, value, what);
  };
  switch (takes) {
    case Takes::Any:
      return;
    case Takes::Nothing:
      throw Error("DELTA_CANNOT_MODIFY_TABLE_PROPERTY",
                  "The table's property " + std::string(name) + " is Delta's own: it cannot be set.",
                  {{"prop", std::string(name)}});
    case Takes::Flag:
      return require(isOneOf(value, {"true", "false"}), "true or false");
    case Takes::Interval:
      return checkInterval(name, value);
    case Takes::PositiveInt:
      return require(isNumber<int32_t>(value, 1), "a number above 0");
    case Takes::NaturalInt:
      return require(isNumber<int32_t>(value, 0), "a number, 0 or more");
    case Takes::NaturalLong:
      return require(isNumber<int64_t>(value, 0), "a number, 0 or more");
    case Takes::Long:
      return require(isNumber<int64_t>(value, std::numeric_limits<int64_t>::min()), "a number");
    case Takes::NumColumns:
      return require(isNumber<int32_t>(value, -1), "a number of columns, or -1 for all of them");
    case Takes::Columns:
      return require(parseColumnList(value).has_value(), "names of columns, with commas between them");
    case Takes::Policy:
      return require(value == "classic" || value == "v2", "classic or v2");
    case Takes::Isolation:
      return checkIsolation(name, value);
    case Takes::Codec:
      return require(
          isOneOf(value, {"none", "uncompressed", "snappy", "gzip", "brotli", "lz4", "lz4_raw", "zstd"}),
          "snappy, zstd, gzip, lz4, lz4_raw, brotli or uncompressed");
    case Takes::FileVersion:
      return require(isFileVersion(value), "a version of Parquet's format (2.12.0)");
    case Takes::ReaderVersion:
      return require(value.size() == 1 && value[0] >= '1' && value[0] <= '3', "1, 2 or 3");
    case Takes::WriterVersion:
      return require(value.size() == 1 && value[0] >= '1' && value[0] <= '7', "1 to 7");
  }
}

}  // namespace

bool isTableProperty(std::string_view name) {
  return findProperty(name) != nullptr;
}

bool isOfOneTable(std::string_view name) {
  for (const std::string_view front :
       {std::string_view("delta.columnMapping.maxColumnId"), std::string_view("delta.rowTracking."),
        std::string_view("delta.inCommitTimestampEnablement"), kCheckpointProtection}) {
    if (startsWithIgnoreCase(name, front)) return true;
  }
  return false;
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
  checkValue(property->takes, name, value);
}

void checkRetentions(const std::map<std::string, std::string>& properties) {
  const std::string log(kLogRetention);
  const std::string deleted = "delta.deletedFileRetentionDuration";
  if (!properties.contains(log) && !properties.contains(deleted)) return;
  Metadata said;
  said.configuration = properties;
  if (logRetentionMs(said) >= deletedFileRetentionMs(said)) return;
  throwRefused(log, tableProperty(said, log).value_or("its default, 30 days"),
               "no shorter interval than " + deleted + " (" +
                   tableProperty(said, deleted).value_or("its default, 7 days") +
                   "; say both in one statement)");
}

}  // namespace thalweg::delta
