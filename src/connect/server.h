// The Spark Connect server: sessions behind a port.
#pragma once

#include <memory>
#include <string>

#include "connect/limits.h"
#include "session/service.h"

namespace thalweg::connect {

struct ConnectServerOptions {
  std::string host = "127.0.0.1";
  int port = 15002;  // 0: one that is free
  // Bearer tokens, one a line. From the file if named, else from `tokens` (the environment's); both empty: no
  // token asked.
  std::string tokenFile;
  std::string tokens;
  // PEM files; both or neither.
  std::string certificateFile;
  std::string keyFile;
  Limits limits;
};

// True for addresses that only this machine reaches.
bool isLoopback(const std::string& host);

// Not thread-safe but for port().
class ConnectServer {
 public:
  // Throws INVALID_OPTION for options that do not fit together, files that cannot be read, and a host beyond
  // loopback without a token and TLS.
  ConnectServer(ConnectServerOptions options, std::shared_ptr<SessionFactory> factory);
  // Shuts down.
  ~ConnectServer();

  // Binds and serves; returns at once. Throws INVALID_OPTION where the address is taken or not of this
  // machine.
  void start();
  int port() const;

  // Stops the queries cleanly, then ends open calls, closes the sessions and the port; returns when nothing
  // runs any more. Safe to call twice.
  void shutDown();

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace thalweg::connect
