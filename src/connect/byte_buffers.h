// gRPC's buffers to contiguous bytes and back.
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <string_view>

namespace google::protobuf {
class MessageLite;
}

namespace thalweg::connect {

// The serialized message in memory of gRPC's own, so that it goes out without a copy.
grpc::Slice serializeToSlice(const google::protobuf::MessageLite& message);

// A buffer's bytes in one piece: no copy where it is one already. The view lives as long as this.
class ContiguousBytes {
 public:
  explicit ContiguousBytes(const grpc::ByteBuffer& buffer);
  std::string_view view() const { return {reinterpret_cast<const char*>(slice_.begin()), slice_.size()}; }

 private:
  grpc::Slice slice_;
};

}  // namespace thalweg::connect
