#include "connect/artifact_upload.h"

#include <openssl/sha.h>
#include <zlib.h>

#include <string_view>

#include <fmt/format.h>

#include "common/options.h"
#include "spark/connect/base.pb.h"

namespace thalweg::connect {
namespace {

constexpr std::string_view kCachePrefix = "cache/";

Error invalidArtifact(const std::string& text) {
  return Error("CONNECT_INVALID_PLAN.INVALID_ARTIFACT", "The upload is invalid: " + text);
}

bool hasChecksum(const std::string& data, int64_t crc) {
  return static_cast<int64_t>(crc32_z(0, reinterpret_cast<const Bytef*>(data.data()), data.size())) == crc;
}

std::string sha256Hex(const std::string& content) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(content.data()), content.size(), digest);
  std::string hex;
  for (const unsigned char byte : digest) hex += fmt::format("{:02x}", byte);
  return hex;
}

void checkName(const std::string& name) {
  const bool leaves = name.empty() || name.front() == '/' || name.find('\0') != std::string::npos ||
                      ("/" + name + "/").find("/../") != std::string::npos;
  if (leaves) throw invalidArtifact("its name must be a relative path without '..'.");
}

}  // namespace

void ArtifactUpload::accept(const spark::connect::AddArtifactsRequest& request) {
  if (request.has_chunk()) {
    if (!chunked_) throw invalidArtifact("a chunk came without a beginning.");
    addChunk(request.chunk().data(), request.chunk().crc());
    return;
  }
  if (chunked_) throw invalidArtifact("the artifact " + chunked_->name + " is not complete.");
  if (request.has_begin_chunk()) {
    beginChunks(request);
    return;
  }
  for (const auto& artifact : request.batch().artifacts()) {
    checkName(artifact.name());
    session_->reserveArtifactBytes(artifact.data().data().size());
    store(artifact.name(), artifact.data().data(),
          hasChecksum(artifact.data().data(), artifact.data().crc()));
  }
}

void ArtifactUpload::beginChunks(const spark::connect::AddArtifactsRequest& request) {
  const auto& begin = request.begin_chunk();
  checkName(begin.name());
  if (begin.total_bytes() < 0 || begin.num_chunks() < 1)
    throw invalidArtifact("its size or number of chunks is not positive.");
  session_->reserveArtifactBytes(static_cast<size_t>(begin.total_bytes()));
  chunked_ = std::make_unique<Chunked>();
  chunked_->name = begin.name();
  chunked_->totalBytes = begin.total_bytes();
  chunked_->chunksLeft = begin.num_chunks();
  addChunk(begin.initial_chunk().data(), begin.initial_chunk().crc());
}

void ArtifactUpload::addChunk(const std::string& data, int64_t crc) {
  Chunked& chunked = *chunked_;
  if (data.size() > static_cast<size_t>(chunked.totalBytes) - chunked.content.size()) {
    throw invalidArtifact("the artifact " + chunked.name + " is larger than it said.");
  }
  chunked.content += data;
  chunked.checksumHolds = chunked.checksumHolds && hasChecksum(data, crc);
  if (--chunked.chunksLeft > 0) return;
  if (static_cast<int64_t>(chunked.content.size()) != chunked.totalBytes) {
    throw invalidArtifact("the artifact " + chunked.name + " is smaller than it said.");
  }
  const auto whole = std::move(chunked_);
  store(whole->name, std::move(whole->content), whole->checksumHolds);
}

void ArtifactUpload::store(const std::string& name, std::string content, bool checksumHolds) {
  if (checksumHolds) {
    const bool cached = name.compare(0, kCachePrefix.size(), kCachePrefix) == 0;
    if (cached && !equalsIgnoreCase(name.substr(kCachePrefix.size()), sha256Hex(content))) {
      throw invalidArtifact("the name of " + name + " is not the SHA-256 of its content.");
    }
    session_->service().addArtifact(name, std::move(content));
  }
  summaries_.push_back({name, checksumHolds});
}

void ArtifactUpload::finish(spark::connect::AddArtifactsResponse* response) {
  if (chunked_) throw invalidArtifact("the artifact " + chunked_->name + " is not complete.");
  for (const Summary& summary : summaries_) {
    auto* artifact = response->add_artifacts();
    artifact->set_name(summary.name);
    artifact->set_is_crc_successful(summary.checksumHolds);
  }
  response->set_session_id(session_->key().sessionId);
  response->set_server_side_session_id(session_->serverSideId());
}

}  // namespace thalweg::connect
