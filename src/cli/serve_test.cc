#include "cli/serve.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>

#include "common/error.h"

namespace thalweg::cli {
namespace {

ServeOptions parse(const std::string& line) {
  CLI::App program;
  ServeOptions options;
  addServeCommand(program, &options);
  program.parse("serve " + line);
  return options;
}

class NoSessions final : public SessionFactory {
 public:
  explicit NoSessions(std::chrono::milliseconds stopsIn) : stopsIn_(stopsIn) {}
  std::shared_ptr<SessionService> makeSession(const std::string&, const std::string&) override {
    throw unsupported("Sessions");
  }
  void shutDown() override { std::this_thread::sleep_for(stopsIn_); }

 private:
  const std::chrono::milliseconds stopsIn_;
};

// A server in a process of its own, since serve waits for signals.
class ServerProcess {
 public:
  explicit ServerProcess(std::chrono::milliseconds stopsIn) {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("no pipe");
    std::fflush(stdout);
    process_ = fork();
    if (process_ == 0) {
      dup2(ends[1], STDOUT_FILENO);
      ServeOptions options;
      options.server.port = 0;
      options.logLevel = "error";
      _exit(serve(std::move(options),
                  [&](const ServerOptions&) { return std::make_shared<NoSessions>(stopsIn); }));
    }
    close(ends[1]);
    output_ = fdopen(ends[0], "r");
  }
  ~ServerProcess() { fclose(output_); }

  std::string readLine() {
    char line[200];
    return fgets(line, sizeof line, output_) == nullptr ? "" : line;
  }
  void signal(int number) const { kill(process_, number); }
  int exitStatus() const {
    int status = 0;
    waitpid(process_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t process_;
  FILE* output_;
};

TEST(ServeCommand, ReadsItsOptions) {
  const ServeOptions options = parse(
      "--port 0 --host ::1 --allowed-root /tmp --allowed-root /usr --warehouse w --catalog c.db --conf a=b "
      "--conf c=d=e --log-level warn");
  EXPECT_EQ(options.server.port, 0);
  EXPECT_EQ(options.server.host, "::1");
  EXPECT_EQ(options.sessions.allowedRoots, (std::vector<std::string>{"/tmp", "/usr"}));
  EXPECT_EQ(options.sessions.warehouse, "w");
  EXPECT_EQ(options.sessions.catalogFile, "c.db");
  EXPECT_EQ(options.sessions.configuration[0], (std::pair<std::string, std::string>{"a", "b"}));
  EXPECT_EQ(options.sessions.configuration[1], (std::pair<std::string, std::string>{"c", "d=e"}));
  EXPECT_EQ(options.logLevel, "warn");
}

TEST(ServeCommand, RefusesWhatItDoesNotKnow) {
  EXPECT_THROW(parse("--conf novalue"), CLI::ParseError);
  EXPECT_THROW(parse("--port 70000"), CLI::ParseError);
  EXPECT_THROW(parse("--log-level loud"), CLI::ParseError);
  EXPECT_THROW(parse("--token secret"), CLI::ParseError);
}

TEST(Serve, AnnouncesItselfAndStopsCleanlyOnSigterm) {
  ServerProcess server{std::chrono::milliseconds(0)};
  const std::string line = server.readLine();
  EXPECT_EQ(line.rfind("listening on sc://127.0.0.1:", 0), 0u) << line;
  server.signal(SIGTERM);
  EXPECT_EQ(server.exitStatus(), 0);
  EXPECT_EQ(server.readLine(), "");
}

TEST(Serve, ASecondSignalEndsItAtOnce) {
  ServerProcess server{std::chrono::minutes(1)};
  server.readLine();
  server.signal(SIGINT);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  server.signal(SIGINT);
  EXPECT_EQ(server.exitStatus(), 130);
}

}  // namespace
}  // namespace thalweg::cli
