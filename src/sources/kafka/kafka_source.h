// The format "kafka" for readers: a streaming source and a batch table.
#pragma once

#include <memory>

#include "common/options.h"
#include "connector/stream_source.h"
#include "connector/table.h"
#include "kafka/client_options.h"
#include "sources/kafka/kafka_source_options.h"

namespace thalweg {

// What load() must refuse before anything runs: throws Error with kind IllegalArgument that names the option. No I/O but
// the key stores that options name.
void validateKafkaOptions(const Options& options, KafkaReadMode mode, const KafkaEnvironment& environment = {});

SchemaPtr kafkaSchema(const Options& options);

std::unique_ptr<StreamSource> openKafkaStream(const Options& options, const StreamSourceContext& context,
                                              const KafkaEnvironment& environment = {});

// Offsets are looked up on each planScan, as Spark does on each action.
std::shared_ptr<Table> openKafkaTable(const Options& options, const KafkaEnvironment& environment = {});

}  // namespace thalweg
