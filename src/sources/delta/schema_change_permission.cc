#include "sources/delta/schema_change_permission.h"

#include <vector>

#include <fmt/format.h>

#include "common/error.h"
#include "common/options.h"
#include "sources/delta/column_changes.h"

namespace thalweg {
namespace {

constexpr std::string_view kPrefix = "spark.databricks.delta.streaming.";

// How one kind of change is let through.
struct Permission {
  const char* name;  // the option, and the end of the setting
  const std::optional<std::string>& option;
  bool coveredByBoth;  // the setting for renames and drops counts too
};

class Permissions {
 public:
  Permissions(const std::map<std::string, std::string>& settings, std::string_view sourceFolder,
              int64_t version)
      : settings_(settings),
        checkpoint_(".ckpt_" + std::to_string(javaHash(sourceFolder))),
        version_(std::to_string(version)) {}

  bool allows(const Permission& permission) const {
    return isPermit(permission.option.value_or("")) || isSet(permission.name) ||
           (permission.coveredByBoth && isSet("allowSourceColumnRenameAndDrop"));
  }
  std::string optionText(const char* name) const { return std::string(name) + " = '" + version_ + "'"; }
  std::string settingText(const char* name) const {
    return settingName(name) + checkpoint_ + " = " + version_;
  }

 private:
  std::string settingName(const char* name) const { return std::string(kPrefix) + name; }
  bool isPermit(std::string_view text) const { return text == "always" || text == version_; }
  bool isSet(const char* name) const {
    const auto value = [&](const std::string& key) {
      const auto found = settings_.find(key);
      return found == settings_.end() ? std::string() : toLowerAscii(found->second);
    };
    return value(settingName(name)) == "always" || isPermit(value(settingName(name) + checkpoint_));
  }

  const std::map<std::string, std::string>& settings_;
  std::string checkpoint_;
  std::string version_;
};

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ", ") + text;
  return all;
}

}  // namespace

int32_t javaHash(std::string_view text) {
  uint32_t hash = 0;
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i++]);
    int more = 0;
    uint32_t character = lead;
    if (lead >= 0xF0) {
      more = 3;
      character = lead & 0x07;
    } else if (lead >= 0xE0) {
      more = 2;
      character = lead & 0x0F;
    } else if (lead >= 0xC0) {
      more = 1;
      character = lead & 0x1F;
    }
    for (; more > 0 && i < text.size(); --more)
      character = character << 6 | (static_cast<unsigned char>(text[i++]) & 0x3F);
    // Java counts UTF-16 units.
    if (character >= 0x10000) {
      hash = hash * 31 + (0xD800 + ((character - 0x10000) >> 10));
      character = 0xDC00 + ((character - 0x10000) & 0x3FF);
    }
    hash = hash * 31 + character;
  }
  return static_cast<int32_t>(hash);
}

void checkSchemaChange(const StreamedMetadata& older, const StreamedMetadata& newer,
                       const SchemaTrackingOptions& options,
                       const std::map<std::string, std::string>& settings, std::string_view sourceFolder) {
  if (!keepsOrWidensTypes(older.metadata, newer.metadata)) {
    throw Error("DELTA_SCHEMA_CHANGED_WITH_VERSION",
                fmt::format("A column of the streamed Delta table got another type, or may be null now, "
                            "between {} and {} (version "
                            "{}): rows of both cannot be read together. Start with a new checkpoint.",
                            older.schema->simpleString(), newer.schema->simpleString(), newer.version),
                {{"version", std::to_string(newer.version)},
                 {"readSchema", older.schema->simpleString()},
                 {"dataSchema", newer.schema->simpleString()}});
  }
  const ColumnChanges changes = columnChanges(older.metadata, newer.metadata);
  const Permissions permissions(settings, sourceFolder, newer.version);
  std::vector<std::string> optionTexts, settingTexts;
  const auto check = [&](bool applies, const Permission& permission) {
    if (!applies || permissions.allows(permission)) return;
    optionTexts.push_back(permissions.optionText(permission.name));
    settingTexts.push_back(permissions.settingText(permission.name));
  };
  check(!changes.renamed.empty(), {"allowSourceColumnRename", options.allowRename, true});
  check(!changes.dropped.empty(), {"allowSourceColumnDrop", options.allowDrop, true});
  check(!changes.widened.empty(), {"allowSourceColumnTypeChange", options.allowTypeChange, false});
  if (optionTexts.empty()) return;
  const std::string version = std::to_string(newer.version);
  throw Error("DELTA_STREAMING_CANNOT_CONTINUE_PROCESSING_POST_SCHEMA_EVOLUTION",
              fmt::format("Columns of the streamed Delta table changed between its versions {} and {} ({}): "
                          "{}. See what that "
                          "means to the query and to where it writes. Then go on by the reader's option {}, "
                          "or the setting {}; "
                          "'always' instead of the version lets later changes through too.",
                          older.version, version, changes.kind(), changes.details(), joined(optionTexts),
                          joined(settingTexts)),
              {{"opType", changes.kind()},
               {"previousSchemaChangeVersion", std::to_string(older.version)},
               {"currentSchemaChangeVersion", version},
               {"columnChangeDetails", changes.details()},
               {"unblockChangeOptions", joined(optionTexts)},
               {"unblockChangeConfs", joined(settingTexts)}});
}

}  // namespace thalweg
