#include "cli/serve.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <thread>

#include <fmt/format.h>

#include "common/logging.h"

namespace thalweg::cli {
namespace {

constexpr int kInterruptedStatus = 130;

std::pair<std::string, std::string> parseSetting(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw CLI::ValidationError("--conf", "takes KEY=VALUE, not " + text);
  return {text.substr(0, equals), text.substr(equals + 1)};
}

LogLevel parseLogLevel(const std::string& text) {
  static const std::map<std::string, LogLevel> levels{{"debug", LogLevel::Debug},
                                                      {"info", LogLevel::Info},
                                                      {"warn", LogLevel::Warn},
                                                      {"error", LogLevel::Error}};
  return levels.at(text);
}

sigset_t stopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

int waitForStopSignal() {
  const sigset_t signals = stopSignals();
  int number = 0;
  sigwait(&signals, &number);
  return number;
}

void announce(const std::string& host, int port) {
  const bool bareIpv6 = host.find(':') != std::string::npos && host.front() != '[';
  std::fputs(fmt::format("listening on sc://{}:{}\n", bareIpv6 ? "[" + host + "]" : host, port).c_str(),
             stdout);
  std::fflush(stdout);
}

}  // namespace

CLI::App* addServeCommand(CLI::App& program, ServeOptions* options) {
  CLI::App* command = program.add_subcommand("serve", "Serve PySpark clients over Spark Connect");
  auto& server = options->server;
  auto& sessions = options->sessions;
  command->add_option("--host", server.host, "Address to bind; beyond loopback it takes a token and TLS")
      ->capture_default_str();
  command->add_option("--port", server.port, "Port; 0 takes a free one")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  command
      ->add_option("--token-file", server.tokenFile,
                   "File of bearer tokens, one a line (or the variable THALWEG_TOKEN)")
      ->check(CLI::ExistingFile);
  command->add_option("--tls-cert", server.certificateFile, "PEM file of the certificate chain")
      ->check(CLI::ExistingFile);
  command->add_option("--tls-key", server.keyFile, "PEM file of the certificate's key")
      ->check(CLI::ExistingFile);
  command
      ->add_option("--allowed-root", sessions.allowedRoots,
                   "Folder that programs may read and write; may be repeated")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("--warehouse", sessions.warehouse,
                      "Folder of tables made by name; default ./spark-warehouse");
  command->add_option("--catalog", sessions.catalogFile, "SQLite file of the catalog; default: _catalog.sqlite in the warehouse");
  command
      ->add_option_function<std::vector<std::string>>(
          "--conf",
          [&sessions](const std::vector<std::string>& settings) {
            for (const std::string& setting : settings)
              sessions.configuration.push_back(parseSetting(setting));
          },
          "KEY=VALUE, a default of session settings; may be repeated")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("--log-level", options->logLevel, "debug, info, warn or error")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}))
      ->capture_default_str();
  return command;
}

int serve(ServeOptions options, const MakeSessionFactory& makeFactory) {
  setLogLevel(parseLogLevel(options.logLevel));
  if (const char* token = std::getenv("THALWEG_TOKEN");
      token != nullptr && options.server.tokenFile.empty()) {
    options.server.tokens = token;
  }
  // Programs that the server starts must not inherit it.
  unsetenv("THALWEG_TOKEN");
  for (std::string& root : options.sessions.allowedRoots) {
    root = std::filesystem::absolute(root).lexically_normal();
    if (!std::filesystem::is_directory(root)) logWarn("the allowed root {} is no folder (yet)", root);
  }
  options.sessions.reachableFromOutside = !connect::isLoopback(options.server.host);
  const sigset_t signals = stopSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  connect::ConnectServer server(options.server, makeFactory(options.sessions));
  server.start();
  announce(options.server.host, server.port());
  const int number = waitForStopSignal();
  logInfo("stopping: {}", strsignal(number));
  std::thread([] {
    waitForStopSignal();
    _exit(kInterruptedStatus);
  }).detach();
  server.shutDown();
  return 0;
}

}  // namespace thalweg::cli
