// The parsing of requests: any bytes give a message or CONNECT_INVALID_PLAN, and nothing else.
#include <google/protobuf/arena.h>

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "common/error.h"
#include "connect/message_bytes.h"
#include "spark/connect/base.pb.h"

namespace {

template <typename Request>
void parse(std::string_view bytes) {
  google::protobuf::Arena arena;
  try {
    thalweg::connect::parseRequest(bytes, {}, google::protobuf::Arena::CreateMessage<Request>(&arena));
  } catch (const thalweg::Error& error) {
    if (error.condition() != "CONNECT_INVALID_PLAN.CANNOT_PARSE") std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  parse<spark::connect::ExecutePlanRequest>(bytes);
  parse<spark::connect::AnalyzePlanRequest>(bytes);
  return 0;
}
