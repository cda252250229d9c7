// Spark's kafka.* options, Java names and all, as settings of librdkafka.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "common/options.h"
#include "common/secret.h"

namespace thalweg {

// What the translation needs of the server: both have defaults, both may throw Error.
struct KafkaEnvironment {
  // Reads a file that an option names. The default reads any local file; a server hands in a reader that checks its paths.
  std::function<std::string(const std::string& path)> readFile;
  // Replaces references such as {{secrets/scope/key}} in one value, after JAAS text is taken apart. Default: unchanged.
  std::function<std::string(const std::string& value)> resolveSecrets;
};

enum class KafkaRole { Consumer, Producer };

// Checked settings of one client. A value type.
struct KafkaClientConfig {
  std::map<std::string, std::string> settings;  // librdkafka's names; no secrets
  std::map<std::string, Secret> secrets;        // librdkafka's names
  std::string bootstrapServers;                 // for error messages

  void set(const std::string& name, const std::string& value) { settings[name] = value; }
};

// Translates all options with the prefix "kafka." and leaves the others alone. Throws Error with kind IllegalArgument that
// names the option: for a name that Kafka's Java client does not have, for what the engine manages itself (auto.offset.reset,
// enable.auto.commit, deserializers, interceptors), for what would load code, and for values that cannot be used.
// Passwords and JAAS text are registered as secrets, so no log line or error shows them.
KafkaClientConfig translateKafkaOptions(const Options& options, KafkaRole role, const KafkaEnvironment& environment = {});

}  // namespace thalweg
