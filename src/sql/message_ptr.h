// Owners of Spark Connect messages for code that does not see the generated headers.
#pragma once

#include <memory>
#include <vector>

namespace google::protobuf {
class Any;
class Message;
}  // namespace google::protobuf

namespace spark::connect {
class Expression;
class Expression_SortOrder;
class Relation;
}  // namespace spark::connect

namespace thalweg::sql {

struct MessageDeleter {
  void operator()(spark::connect::Expression* message) const;
  void operator()(spark::connect::Relation* message) const;
};
using ExpressionPtr = std::unique_ptr<spark::connect::Expression, MessageDeleter>;
using RelationPtr = std::unique_ptr<spark::connect::Relation, MessageDeleter>;

// Reads one of thalweg.messages' messages (src/messages/thalweg.proto) out of an `extension` field: protobuf's own
// Any::UnpackTo stops at 100 levels, this one goes as deep as the parser does. False when it holds another message.
bool unpackExtension(const google::protobuf::Any& extension, google::protobuf::Message* message);

}  // namespace thalweg::sql
