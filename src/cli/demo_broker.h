// `thalweg demo-broker`: a Kafka broker filled with made-up click events, for ./quickstart and the end-to-end tests.
#pragma once

#include <cstdint>
#include <string>

namespace CLI {
class App;
}

namespace thalweg::cli {

struct DemoBrokerOptions {
  int64_t events = 1'000'000;
  int partitions = 40;
  uint64_t seed = 42;
  std::string topic = "clicks";
};

// Adds the subcommand and its options, which are written to `options` when the program's line is parsed.
CLI::App* addDemoBrokerCommand(CLI::App& program, DemoBrokerOptions* options);

// Starts the broker, writes events 0 … events−1 (event i to partition i mod partitions, so a later start with more events
// gives every old record its old offset), then one line of JSON to standard output:
//   {"bootstrap_servers":"127.0.0.1:1234","topic":"clicks","events":1000000,"price_cents":4711}
// Keeps serving until standard input ends, or SIGTERM or SIGINT; returns the process's exit status. The broker keeps the
// newest 5 MiB a partition, in memory. Call before the process has other threads, as `serve`. Throws Error.
int runDemoBroker(const DemoBrokerOptions& options);

}  // namespace thalweg::cli
