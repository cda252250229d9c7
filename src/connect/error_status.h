// Errors on the wire, in the form in which Spark's Connect server sends them.
#pragma once

#include <grpcpp/support/status.h>

#include <string>
#include <string_view>

#include "common/error.h"

namespace spark::connect {
class FetchErrorDetailsResponse;
}

namespace thalweg::connect {

// INTERNAL, the message (secrets masked, shortened to what fits a client's 8 KB of headers), and as details a
// google.rpc.Status with one ErrorInfo {domain org.apache.spark, reason the Java class, metadata}.
// `errorId` is what the client may give to FetchErrorDetails; empty: none.
grpc::Status toStatus(const Error& error, const std::string& errorId);

// The whole message, the class hierarchy, condition, parameters, contexts and causes.
void fillErrorDetails(const Error& error, spark::connect::FetchErrorDetailsResponse* response);

// The text with bytes that are not UTF-8 replaced by U+FFFD: protobuf's text fields may hold nothing else.
std::string validUtf8(std::string_view text);

}  // namespace thalweg::connect
