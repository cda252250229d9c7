#include "sinks/delta/delta_write_options.h"

#include "common/error.h"
#include "common/option_choice.h"
#include "delta/maintain/auto_compaction.h"
#include "delta/snapshot/table_properties.h"

namespace thalweg {

DeltaWriteOptions DeltaWriteOptions::parse(const Options& options, std::vector<std::string> partitionBy) {
  for (const char* name : {"replaceOn", "replaceUsing"}) {
    if (options.has(name)) throw unsupported(std::string("the Delta write option ") + name);
  }
  DeltaWriteOptions parsed;
  parsed.partitionBy = std::move(partitionBy);
  parsed.mergeSchema = options.getBool("mergeSchema", false);
  parsed.overwriteSchema = options.getBool("overwriteSchema", false);
  const std::string overwriteMode = options.getOr("partitionOverwriteMode", "static");
  parsed.dynamicOverwrite = equalsIgnoreCase(overwriteMode, "dynamic");
  if (!parsed.dynamicOverwrite && !equalsIgnoreCase(overwriteMode, "static")) {
    throw Error("DELTA_ILLEGAL_OPTION",
                "'" + overwriteMode + "' is no partitionOverwriteMode: STATIC and DYNAMIC are.",
                {{"name", "partitionOverwriteMode"},
                 {"input", overwriteMode},
                 {"explain", "must be 'STATIC' or 'DYNAMIC'"}});
  }
  parsed.maxRecordsPerFile =
      options.getLong(firstGiven(options, {"maxRecordsPerFile", "spark.sql.files.maxRecordsPerFile"}))
          .value_or(0);
  parsed.userMetadata = options.get("userMetadata");
  for (const auto& [key, option] : options.entries()) {
    if (!key.starts_with("delta.")) continue;
    delta::checkTableProperty(option.name, option.value, /*allowUnknown=*/false);
    parsed.properties[delta::tablePropertyName(option.name)] = option.value;
  }
  parsed.replaceWhere = options.get("replaceWhere");
  parsed.txnAppId = options.get("txnAppId");
  parsed.txnVersion = options.getLong("txnVersion");
  if (options.has("optimizeWrite")) parsed.optimizeWrite = options.getBool("optimizeWrite", false);
  for (const char* key :
       {delta::kAutoCompactSetting, delta::kAutoCompactMinFilesSetting, delta::kAutoCompactMaxSizeSetting}) {
    if (const auto value = options.get(key)) parsed.autoCompaction[key] = *value;
  }
  return parsed;
}

}  // namespace thalweg
