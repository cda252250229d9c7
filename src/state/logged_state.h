// What a query's offset log says about its state: the settings under which the first batch ran hold for all
// later ones.
#pragma once

#include <map>
#include <string>

#include "state/state_files.h"

namespace thalweg {

struct LoggedState {
  StateProvider provider = StateProvider::HdfsBacked;
  StateFormat format;
};

// Settings that the log lacks have the value that Spark assumes for them then: lz4, merge operator version 1,
// and, where Spark would ask the session, the default provider. Throws Error UNSUPPORTED_FEATURE for other
// providers and codecs, for rows in Avro (spark.sql.streaming.stateStore.encodingFormat) and for values with
// checksums (stateStore.rowChecksum.enabled).
LoggedState loggedState(const std::map<std::string, std::string>& configuration, SchemaPtr keySchema,
                        int numColsPrefixKey);

}  // namespace thalweg
