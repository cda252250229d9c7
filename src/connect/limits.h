// What one client may ask of the server; every bound has a default.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace thalweg::connect {

struct Limits {
  size_t messageBytes = size_t{128} << 20;  // one request, also the client's own bound
  // A compressed plan after decoding.
  size_t decodedPlanBytes = size_t{256} << 20;
  int planDepth = 1024;          // messages inside messages, counted from the request
  size_t planItems = 2'000'000;  // messages, texts and byte fields of one request
  size_t sessions = 5000;  // an idle one holds some 10 kB
  size_t operationsPerSession = 500;
  size_t artifactBytesPerSession = size_t{1} << 30;
  // Responses an operation keeps for a client that lost its connection, and, as much again, for a client that
  // is slow.
  size_t retryBufferBytes = size_t{10} << 20;
  std::chrono::milliseconds sessionIdle = std::chrono::minutes(60);
  std::chrono::milliseconds operationDetached = std::chrono::minutes(5);
  // A reattachable stream ends, to be reattached, after this time or this many bytes. The settings
  // spark.connect.execute.reattachable.senderMaxStreamDuration and .senderMaxStreamSize of a session win.
  std::chrono::milliseconds streamDuration = std::chrono::minutes(2);
  int64_t streamBytes = int64_t{1} << 30;
  // How often a running operation says that it lives; spark.connect.progress.reportInterval wins.
  std::chrono::milliseconds progressInterval = std::chrono::seconds(2);
  size_t executionThreads = 512;
  size_t callThreads = 16;
};

}  // namespace thalweg::connect
