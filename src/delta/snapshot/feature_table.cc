#include "delta/snapshot/feature_table.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "common/options.h"
#include "delta/snapshot/property_values.h"
#include "delta/snapshot/type_widening.h"

namespace thalweg::delta {
namespace {

bool anyProperty(const Metadata& metadata, std::string_view prefix) {
  const auto it = metadata.configuration.lower_bound(std::string(prefix));
  return it != metadata.configuration.end() && it->first.starts_with(prefix);
}

// Field metadata keys stand in the schema's text between quotes; a text search over-reports at worst (a
// column so named).
bool schemaMentions(const Metadata& metadata, std::string_view key) {
  return metadata.schemaString.find("\"" + std::string(key)) != std::string::npos;
}

bool columnMappingOn(const Metadata& metadata) {
  const auto mode = tableProperty(metadata, "delta.columnMapping.mode");
  return mode && !equalsIgnoreCase(*mode, "none");
}

// The texts are the names of properties; arrays, for they are template arguments.
constexpr char kEnableRowTracking[] = "delta.enableRowTracking";
constexpr char kEnableVariantShredding[] = "delta.enableVariantShredding";
constexpr char kEnableIcebergCompatV1[] = "delta.enableIcebergCompatV1";
constexpr char kEnableIcebergCompatV2[] = "delta.enableIcebergCompatV2";
constexpr char kEnableIcebergCompatV3[] = "delta.enableIcebergCompatV3";
template <const char* property>
bool switchedOn(const Metadata& metadata) {
  return tableFlag(metadata, property);
}

bool containsType(const DataType& type, TypeId id) {
  if (type.id() == id) return true;
  if (type.id() == TypeId::Array) return containsType(*type.element(), id);
  if (type.id() == TypeId::Map) return containsType(*type.key(), id) || containsType(*type.value(), id);
  if (type.id() != TypeId::Struct) return false;
  return std::any_of(type.fields().begin(), type.fields().end(),
                     [&](const StructField& field) { return containsType(*field.type, id); });
}

constexpr Feature kFeatures[] = {
    {"appendOnly", false, 0, 2, true, true, nullptr},
    {"invariants", false, 0, 2, true, true, nullptr},
    {"checkConstraints", false, 0, 3, true, true,
     [](const Metadata& m) { return anyProperty(m, "delta.constraints."); }},
    {"changeDataFeed", false, 0, 4, true, true,
     [](const Metadata& m) { return tableFlag(m, kEnableChangeDataFeed); }},
    {"generatedColumns", false, 0, 4, true, true,
     [](const Metadata& m) { return schemaMentions(m, "delta.generationExpression"); }},
    {"columnMapping", true, 2, 5, true, true, columnMappingOn},
    {"identityColumns", false, 0, 6, true, true,
     [](const Metadata& m) { return schemaMentions(m, "delta.identity."); }},
    {"deletionVectors", true, 0, 0, true, true,
     [](const Metadata& m) { return tableFlag(m, kEnableDeletionVectors); }},
    {"timestampNtz", true, 0, 0, true, true,
     [](const Metadata& m) { return containsType(*m.schema(), TypeId::TimestampNtz); }, true},
    {"variantType", true, 0, 0, true, false,
     [](const Metadata& m) { return containsType(*m.schema(), TypeId::Variant); }},
    {"v2Checkpoint", true, 0, 0, true, true,
     [](const Metadata& m) {
       const auto policy = tableProperty(m, kCheckpointPolicy);
       return policy && equalsIgnoreCase(*policy, "v2");
     }},
    {"vacuumProtocolCheck", true, 0, 0, true, true, nullptr},
    {"typeWidening", true, 0, 0, true, true,
     [](const Metadata& m) {
       return tableFlag(m, kEnableTypeWidening) || schemaMentions(m, "delta.typeChanges");
     }},
    {"typeWidening-preview", true, 0, 0, true, true, nullptr},
    {"variantType-preview", true, 0, 0, true, false, nullptr},
    {"variantShredding", true, 0, 0, true, false, switchedOn<kEnableVariantShredding>},
    {"variantShredding-preview", true, 0, 0, true, false, nullptr},
    {"domainMetadata", false, 0, 0, true, true, nullptr},
    {"inCommitTimestamp", false, 0, 0, true, true,
     [](const Metadata& m) { return tableFlag(m, kEnableInCommitTimestamps); }},
    {"checkpointProtection", false, 0, 0, true, true, nullptr},
    {"allowColumnDefaults", false, 0, 0, true, true, nullptr},
    {"clustering", false, 0, 0, true, true, nullptr},
    {"rowTracking", false, 0, 0, true, true, switchedOn<kEnableRowTracking>},
    {"icebergCompatV1", false, 0, 0, true, false, switchedOn<kEnableIcebergCompatV1>},
    {"icebergCompatV2", false, 0, 0, true, false, switchedOn<kEnableIcebergCompatV2>},
    {"icebergCompatV3", false, 0, 0, true, false, switchedOn<kEnableIcebergCompatV3>},
};

// A name that stood there twice would be looked up as the first.
constexpr bool isEachThereOnce() {
  for (size_t i = 0; i < std::size(kFeatures); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (kFeatures[i].name == kFeatures[j].name) return false;
    }
  }
  return true;
}
static_assert(isEachThereOnce());

}  // namespace

std::span<const Feature> allFeatures() {
  return kFeatures;
}

const Feature* findFeature(std::string_view name) {
  for (const Feature& feature : kFeatures) {
    if (feature.name == name) return &feature;
  }
  return nullptr;
}

}  // namespace thalweg::delta
