#include "sql/message_ptr.h"

#include <google/protobuf/any.pb.h>
#include <google/protobuf/io/coded_stream.h>

#include "spark/connect/expressions.pb.h"
#include "spark/connect/relations.pb.h"

namespace thalweg::sql {
namespace {
// A level of SQL nesting takes up to three levels of messages.
constexpr int kMaxMessageDepth = 6000;
}  // namespace

void MessageDeleter::operator()(spark::connect::Expression* message) const { delete message; }
void MessageDeleter::operator()(spark::connect::Relation* message) const { delete message; }

bool unpackExtension(const google::protobuf::Any& extension, google::protobuf::Message* message) {
  const std::string& url = extension.type_url();
  if (url.substr(url.rfind('/') + 1) != message->GetDescriptor()->full_name()) return false;
  const std::string& bytes = extension.value();
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  stream.SetRecursionLimit(kMaxMessageDepth);
  return message->ParseFromCodedStream(&stream) && stream.ConsumedEntireMessage();
}

}  // namespace thalweg::sql
