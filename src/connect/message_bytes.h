// Bytes of foreign clients into Spark Connect's messages, bounded in depth and number.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "connect/limits.h"

namespace google::protobuf {
class Descriptor;
class Message;
}  // namespace google::protobuf

namespace spark::connect {
class AnalyzePlanRequest;
class ExecutePlanRequest;
}  // namespace spark::connect

namespace thalweg::connect {

// How a serialized message is built, found without recursion and without making it.
struct MessageShape {
  bool wellFormed = true;  // lengths and wire types hold; false stops the count where the bytes go wrong
  int depth = 0;           // 1: a message without messages in it
  size_t items = 0;        // messages, texts and byte fields
};

// Stops early, with what it has, once a bound of `limits` is passed. Bytes inside google.protobuf.Any count
// as bytes.
MessageShape messageShape(std::string_view bytes, const google::protobuf::Descriptor& type,
                          const Limits& limits);

// Parses into `message`, which should live on an arena: the destructor of a deep message recurses. Throws
// CONNECT_INVALID_PLAN.CANNOT_PARSE for malformed bytes, invalid UTF-8 in text, and anything deeper or larger
// than the limits.
void parseMessage(std::string_view bytes, const Limits& limits, google::protobuf::Message* message);

// Parses a request and decodes its compressed plans (zstd), within the limits; throws as parseMessage does.
void parseRequest(std::string_view bytes, const Limits& limits, spark::connect::ExecutePlanRequest* request);
void parseRequest(std::string_view bytes, const Limits& limits, spark::connect::AnalyzePlanRequest* request);

// The content of a zstd frame; throws as parseMessage does if it is malformed or more than maxBytes.
std::string decodeZstd(std::string_view compressed, size_t maxBytes);

}  // namespace thalweg::connect
