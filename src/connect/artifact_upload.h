// One AddArtifacts call: pieces in, whole artifacts into the session.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "connect/client_session.h"

namespace spark::connect {
class AddArtifactsRequest;
class AddArtifactsResponse;
}  // namespace spark::connect

namespace thalweg::connect {

// Not thread-safe: gRPC hands over one message at a time. An artifact whose checksum does not match is
// reported as such and not stored; cache/<sha256> artifacts are held to their name.
class ArtifactUpload {
 public:
  explicit ArtifactUpload(std::shared_ptr<ClientSession> session) : session_(std::move(session)) {}

  // Throws CONNECT_INVALID_PLAN.INVALID_ARTIFACT for chunks out of order or sizes that do not match,
  // SERVER_LIMIT_EXCEEDED, and what SessionService::addArtifact throws.
  void accept(const spark::connect::AddArtifactsRequest& request);
  // The call's last message has come; throws where an artifact is incomplete.
  void finish(spark::connect::AddArtifactsResponse* response);

 private:
  struct Summary {
    std::string name;
    bool checksumHolds;
  };
  struct Chunked {
    std::string name;
    std::string content;
    int64_t totalBytes = 0;
    int64_t chunksLeft = 0;
    bool checksumHolds = true;
  };

  void beginChunks(const spark::connect::AddArtifactsRequest& request);
  void addChunk(const std::string& data, int64_t crc);
  void store(const std::string& name, std::string content, bool checksumHolds);

  const std::shared_ptr<ClientSession> session_;
  std::unique_ptr<Chunked> chunked_;
  std::vector<Summary> summaries_;
};

}  // namespace thalweg::connect
