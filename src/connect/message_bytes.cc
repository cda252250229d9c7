#include "connect/message_bytes.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/message.h>
#include <zstd.h>

#include <memory>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "common/error.h"
#include "spark/connect/base.pb.h"

namespace thalweg::connect {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::io::CodedInputStream;

enum WireType : uint32_t { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };

Error cannotParse(const std::string& text) {
  return Error("CONNECT_INVALID_PLAN.CANNOT_PARSE", text, {{"errorMsg", text}});
}

// A cursor over wire format; every read says whether the bytes were there.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : bytes_(bytes) {}
  size_t position() const { return position_; }

  std::optional<uint64_t> varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 70 && position_ < bytes_.size(); shift += 7) {
      const auto byte = static_cast<uint8_t>(bytes_[position_++]);
      if (shift < 64) value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return std::nullopt;
  }

  bool skip(uint64_t count, size_t end) {
    if (count > end - position_) return false;
    position_ += count;
    return true;
  }

 private:
  std::string_view bytes_;
  size_t position_ = 0;
};

struct OpenMessage {
  const Descriptor* type;
  size_t end;
};

class ShapeScanner {
 public:
  ShapeScanner(std::string_view bytes, const Descriptor& type, const Limits& limits)
      : reader_(bytes), limits_(limits) {
    open_.push_back({&type, bytes.size()});
    shape_.depth = 1;
    shape_.items = 1;
  }

  MessageShape scan() {
    while (!open_.empty()) {
      if (reader_.position() == open_.back().end) {
        open_.pop_back();
      } else if (!readField()) {
        shape_.wellFormed = false;
        break;
      } else if (shape_.depth > limits_.planDepth || shape_.items > limits_.planItems) {
        break;
      }
    }
    return shape_;
  }

 private:
  bool readField() {
    const OpenMessage message = open_.back();
    const auto tag = reader_.varint();
    if (!tag || reader_.position() > message.end || *tag >> 32 != 0 || *tag >> 3 == 0) return false;
    switch (*tag & 7) {
      case kVarint:
        return reader_.varint().has_value() && reader_.position() <= message.end;
      case kFixed64:
        return reader_.skip(8, message.end);
      case kFixed32:
        return reader_.skip(4, message.end);
      case kLengthDelimited:
        return readLengthDelimited(message, static_cast<int>(*tag >> 3));
      default:
        return false;  // groups: no message of the protocol has one
    }
  }

  bool readLengthDelimited(const OpenMessage& message, int number) {
    const auto length = reader_.varint();
    if (!length || reader_.position() > message.end || *length > message.end - reader_.position())
      return false;
    const FieldDescriptor* field = message.type->FindFieldByNumber(number);
    if (field != nullptr) ++shape_.items;
    if (field == nullptr || field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE)
      return reader_.skip(*length, message.end);
    open_.push_back({field->message_type(), reader_.position() + static_cast<size_t>(*length)});
    shape_.depth = std::max(shape_.depth, static_cast<int>(open_.size()));
    return true;
  }

  WireReader reader_;
  const Limits& limits_;
  std::vector<OpenMessage> open_;
  MessageShape shape_;
};

void decodePlan(const Limits& limits, spark::connect::Plan* plan) {
  if (!plan->has_compressed_operation()) return;
  const auto& compressed = plan->compressed_operation();
  if (compressed.compression_codec() != spark::connect::COMPRESSION_CODEC_ZSTD) {
    throw cannotParse("The plan is compressed with a codec that this server does not know; it takes zstd.");
  }
  const auto kind = compressed.op_type();
  const std::string decoded = decodeZstd(compressed.data(), limits.decodedPlanBytes);
  using Compressed = spark::connect::Plan::CompressedOperation;
  if (kind == Compressed::OP_TYPE_RELATION) {
    parseMessage(decoded, limits, plan->mutable_root());
  } else if (kind == Compressed::OP_TYPE_COMMAND) {
    parseMessage(decoded, limits, plan->mutable_command());
  } else {
    throw cannotParse("The compressed plan does not say whether it is a relation or a command.");
  }
}

// Every variant of AnalyzePlan that takes plans has them as direct fields.
void decodePlansIn(const Limits& limits, Message* variant) {
  const Descriptor* type = variant->GetDescriptor();
  const auto* reflection = variant->GetReflection();
  for (int i = 0; i < type->field_count(); ++i) {
    const FieldDescriptor* field = type->field(i);
    if (field->message_type() != spark::connect::Plan::descriptor() || !reflection->HasField(*variant, field))
      continue;
    decodePlan(limits, static_cast<spark::connect::Plan*>(reflection->MutableMessage(variant, field)));
  }
}

}  // namespace

MessageShape messageShape(std::string_view bytes, const Descriptor& type, const Limits& limits) {
  return ShapeScanner(bytes, type, limits).scan();
}

void parseMessage(std::string_view bytes, const Limits& limits, Message* message) {
  const MessageShape shape = messageShape(bytes, *message->GetDescriptor(), limits);
  if (shape.depth > limits.planDepth) {
    throw cannotParse(fmt::format(
        "The plan is nested more than {} levels deep; build it from fewer chained calls, for instance "
        "one select in place of many withColumn.",
        limits.planDepth));
  }
  if (shape.items > limits.planItems) {
    throw cannotParse(fmt::format("The plan has more than {} parts; send data as a file or a table instead.",
                                  limits.planItems));
  }
  CodedInputStream input(reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int>(bytes.size()));
  input.SetRecursionLimit(limits.planDepth + 1);
  if (!shape.wellFormed || !message->ParseFromCodedStream(&input) || !input.ConsumedEntireMessage()) {
    throw cannotParse("The request's bytes are not a message of the Spark Connect protocol.");
  }
}

void parseRequest(std::string_view bytes, const Limits& limits, spark::connect::ExecutePlanRequest* request) {
  parseMessage(bytes, limits, request);
  if (request->has_plan()) decodePlan(limits, request->mutable_plan());
}

void parseRequest(std::string_view bytes, const Limits& limits, spark::connect::AnalyzePlanRequest* request) {
  parseMessage(bytes, limits, request);
  const auto* reflection = request->GetReflection();
  const auto* variant = reflection->GetOneofFieldDescriptor(
      *request, spark::connect::AnalyzePlanRequest::descriptor()->FindOneofByName("analyze"));
  if (variant != nullptr) decodePlansIn(limits, reflection->MutableMessage(request, variant));
}

std::string decodeZstd(std::string_view compressed, size_t maxBytes) {
  const std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(), &ZSTD_freeDCtx);
  std::string decoded;
  std::string chunk(ZSTD_DStreamOutSize(), '\0');
  ZSTD_inBuffer input{compressed.data(), compressed.size(), 0};
  size_t remaining = 1;
  while (remaining != 0) {
    ZSTD_outBuffer output{chunk.data(), chunk.size(), 0};
    const size_t consumed = input.pos;
    remaining = ZSTD_decompressStream(context.get(), &output, &input);
    if (ZSTD_isError(remaining)) throw cannotParse("The compressed plan is not valid zstd.");
    if (output.pos > maxBytes - decoded.size()) {
      throw cannotParse(fmt::format("The compressed plan is larger than {} bytes after decoding.", maxBytes));
    }
    decoded.append(chunk.data(), output.pos);
    const bool stalled = input.pos == consumed && output.pos == 0;
    if (remaining != 0 && stalled) throw cannotParse("The compressed plan ends before its zstd frame does.");
  }
  if (input.pos != input.size) throw cannotParse("The compressed plan has bytes after its zstd frame.");
  return decoded;
}

}  // namespace thalweg::connect
