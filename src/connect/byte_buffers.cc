#include "connect/byte_buffers.h"

#include <google/protobuf/message_lite.h>
#include <grpc/slice.h>

#include "common/error.h"

namespace thalweg::connect {

grpc::Slice serializeToSlice(const google::protobuf::MessageLite& message) {
  const size_t size = message.ByteSizeLong();
  if (size > INT32_MAX)
    throw Error("OUT_OF_MEMORY", "A response is larger than 2 GB; ask for fewer rows a batch.");
  grpc_slice slice = grpc_slice_malloc(size);
  message.SerializeWithCachedSizesToArray(GRPC_SLICE_START_PTR(slice));
  return grpc::Slice(slice, grpc::Slice::STEAL_REF);
}

ContiguousBytes::ContiguousBytes(const grpc::ByteBuffer& buffer) {
  if (!buffer.Valid() || buffer.TrySingleSlice(&slice_).ok()) return;
  if (!buffer.DumpToSingleSlice(&slice_).ok())
    throw Error("OUT_OF_MEMORY", "The request could not be put together in memory.");
}

}  // namespace thalweg::connect
