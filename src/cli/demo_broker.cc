#include "cli/demo_broker.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>

#include "cli/click_events.h"
#include "common/error.h"
#include "kafka/embedded_broker.h"
#include "kafka/producer.h"

namespace thalweg::cli {
namespace {

// Readable once SIGTERM or SIGINT came; blocks both for this thread and those that it starts.
int openStopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  const int descriptor = signalfd(-1, &signals, SFD_CLOEXEC);
  if (descriptor < 0) throw internalError("Signals cannot be awaited.");
  return descriptor;
}

void waitForEnd(int stopSignals) {
  pollfd awaited[] = {{STDIN_FILENO, POLLIN, 0}, {stopSignals, POLLIN, 0}};
  for (;;) {
    if (poll(awaited, 2, -1) < 0 && errno != EINTR) return;
    if (awaited[1].revents != 0) return;
    if (awaited[0].revents == 0) continue;
    char ignored[4096];
    if (read(STDIN_FILENO, ignored, sizeof ignored) <= 0) return;
  }
}

int64_t sendEvents(const DemoBrokerOptions& options, const std::string& bootstrapServers) {
  KafkaProducer producer(bootstrapServers);
  ClickEvents events(options.seed);
  int64_t priceCents = 0;
  for (int64_t number = 0; number < options.events; ++number) {
    const ClickEvents::Event event = events.event(number);
    priceCents += event.priceCents;
    KafkaRecord record;
    record.topic = options.topic;
    record.partition = static_cast<int32_t>(number % options.partitions);
    record.key = event.userId;
    record.value = event.json;
    record.timestampMs = event.timestampMs;
    producer.send(record);
  }
  producer.flush();
  return priceCents;
}

}  // namespace

CLI::App* addDemoBrokerCommand(CLI::App& program, DemoBrokerOptions* options) {
  CLI::App* command = program.add_subcommand("demo-broker", "A Kafka broker in memory, full of made-up click events");
  command->add_option("--events", options->events, "How many")->check(CLI::NonNegativeNumber)->capture_default_str();
  command->add_option("--partitions", options->partitions, "Of the topic")->check(CLI::Range(1, 1000))->capture_default_str();
  command->add_option("--seed", options->seed, "Another seed makes other events")->capture_default_str();
  command->add_option("--topic", options->topic, "Its name")->capture_default_str();
  return command;
}

int runDemoBroker(const DemoBrokerOptions& options) {
  const int stopSignals = openStopSignals();
  EmbeddedBroker broker;
  broker.createTopic(options.topic, options.partitions);
  const int64_t priceCents = sendEvents(options, broker.bootstrapServers());
  std::fputs(fmt::format("{{\"bootstrap_servers\":\"{}\",\"topic\":\"{}\",\"events\":{},\"price_cents\":{}}}\n",
                         broker.bootstrapServers(), options.topic, options.events, priceCents)
                 .c_str(),
             stdout);
  std::fflush(stdout);
  waitForEnd(stopSignals);
  close(stopSignals);
  return 0;
}

}  // namespace thalweg::cli
