#include "state/logged_state.h"

#include "common/error.h"
#include "common/options.h"

namespace thalweg {
namespace {

constexpr const char* kPrefix = "spark.sql.streaming.stateStore.";

}  // namespace

LoggedState loggedState(const std::map<std::string, std::string>& configuration, SchemaPtr keySchema,
                        int numColsPrefixKey) {
  const auto setting = [&](const char* name, std::string otherwise) {
    const auto found = configuration.find(std::string(kPrefix) + name);
    return found == configuration.end() ? otherwise : found->second;
  };
  const std::string encoding = setting("encodingFormat", "unsaferow");
  if (!equalsIgnoreCase(encoding, "unsaferow"))
    throw unsupported("State with rows in the encoding " + encoding);
  if (equalsIgnoreCase(setting("rowChecksum.enabled", "false"), "true"))
    throw unsupported("State with a checksum in each value");
  LoggedState state;
  state.provider = stateProviderOf(
      setting("providerClass", std::string(stateProviderClassName(StateProvider::HdfsBacked))));
  state.format.keySchema = std::move(keySchema);
  state.format.numColsPrefixKey = numColsPrefixKey;
  state.format.codec = setting("compression.codec", "lz4");
  state.format.mergeOperatorVersion = setting("rocksdb.mergeOperatorVersion", "1") == "1" ? 1 : 2;
  return state;
}

}  // namespace thalweg
