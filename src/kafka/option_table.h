// What each Java client option means to this client: one table, one line an option.
#pragma once

#include <string_view>

namespace thalweg {

enum class KafkaOptionUse {
  Pass,      // same value under `target`
  Accept,    // has no meaning here and loses nothing: a Java tuning knob, a metric, a group timer
  Special,   // read by client_options.cc itself
  LoadsCode, // names a Java class or a library: refused unless empty
  Managed,   // set by the engine alone: refused as Spark refuses it
  Missing,   // would change what is read or how it is protected, and is not built: refused unless empty
};

enum class KafkaOptionRole { Both, Consumer, Producer };

struct KafkaOptionRow {
  std::string_view name;  // Java's, without Spark's "kafka." prefix
  KafkaOptionUse use;
  KafkaOptionRole role = KafkaOptionRole::Both;
  std::string_view target = {};  // librdkafka's name; empty: the same as `name`
};

// Null where Kafka's Java client has no such option. Names are compared exactly: Spark hands them on in lower case, and all are.
const KafkaOptionRow* findKafkaOption(std::string_view name);

}  // namespace thalweg
