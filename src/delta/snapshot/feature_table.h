// The features of the protocol, a row each; for table_features.h and protocol_choice.h.
#pragma once

#include <span>
#include <string_view>

#include "delta/actions/actions.h"

namespace thalweg::delta {

using InUse = bool (*)(const Metadata&);

struct Feature {
  std::string_view name;
  bool isReaderFeature;
  int legacyReader;  // the first reader version that implies it, 0 for none
  int legacyWriter;
  bool canRead;
  bool canWrite;
  InUse inUse;  // whether the metadata switches it on; null where nothing in it does
  // Of a table that is there, whose older readers would be shut out: the user must ask for it by name.
  bool byNameOnly = false;
};

// Those of the protocol's table; those of drafts that we neither read nor write are absent and refused alike.
std::span<const Feature> allFeatures();
// By the name as the protocol has it; null where there is none.
const Feature* findFeature(std::string_view name);

}  // namespace thalweg::delta
