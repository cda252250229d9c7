// A Spark Connect server with stub sessions, for the tests with the stock client: connect_stub_server, serves
// on a free port, says it on standard output, ends when its standard input does.
#include <iostream>
#include <string>

#include "connect/server.h"
#include "connect/stub_session.h"

int main() {
  thalweg::connect::ConnectServerOptions options;
  options.port = 0;
  const char* token = std::getenv("THALWEG_TOKEN");
  if (token != nullptr) options.tokens = token;
  thalweg::connect::ConnectServer server(options, std::make_shared<thalweg::connect::StubSessionFactory>());
  server.start();
  std::cout << "listening on sc://localhost:" << server.port() << std::endl;
  std::string line;
  while (std::getline(std::cin, line)) {
  }
  server.shutDown();
  return 0;
}
