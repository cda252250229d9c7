// What a feature has left in a table's metadata, found and taken out: for ALTER TABLE … DROP FEATURE.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "commands/removable_features.h"
#include "delta/actions/actions.h"

namespace thalweg {

using TableProperties = std::vector<std::pair<std::string, std::string>>;

// Whether some field's metadata may have a key that begins so: a text search, which over-reports at worst.
bool mentions(const delta::Metadata& metadata, std::string_view key);

// The action as metadata; null where it is something else.
const delta::Metadata* metadataOf(const delta::Action& action);

// One commit named UNSET TBLPROPERTIES, as Spark names it, that takes properties away (case counts not) and
// sets others. Throws the commit's errors.
void unsetProperties(const DroppedFrom& table, const std::vector<std::string>& keys,
                     const TableProperties& set = {});
// One commit named SET TBLPROPERTIES.
void setProperties(const DroppedFrom& table, const TableProperties& properties);

// A schema's JSON, which a snapshot has parsed before, without the keys of fields' metadata that begin so.
std::string withoutFieldKeys(const std::string& schemaString, const std::string& front);

// The rows of removable_features.h, by what a feature leaves its traces in.
std::vector<RemovableFeature> logFeatures();     // commits, checkpoints, properties, domains
std::vector<RemovableFeature> fileFeatures();    // files and their vectors, ids of rows
std::vector<RemovableFeature> columnFeatures();  // the schema, and files written under it

// For features that nothing has to go of.
bool neverUsed(const delta::Action& action);

}  // namespace thalweg
