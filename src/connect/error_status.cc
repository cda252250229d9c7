#include "connect/error_status.h"

#include <nlohmann/json.hpp>

#include "common/secret.h"
#include "connect/java_classes.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "spark/connect/base.pb.h"

namespace thalweg::connect {
namespace {

using nlohmann::json;
using spark::connect::FetchErrorDetailsResponse;

constexpr size_t kMessageBytes = 2048;         // Spark's own bound for the status text
constexpr size_t kEncodedMessageBytes = 3072;  // as percent-encoded in the header
constexpr size_t kParameterBytes = 1024;       // Spark's spark.connect.grpc.maxMetadataSize
constexpr int kMaxCauses = 16;

std::string asText(std::string_view text) {
  return validUtf8(maskSecrets(text));
}

// Length of the UTF-8 sequence at the front, 0 where there is none.
size_t sequenceLength(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xf0 && first < 0xf5   ? 4
                        : first >= 0xe0 && first < 0xf0 ? 3
                        : first >= 0xc2 && first < 0xe0 ? 2
                                                        : 0;
  if (length == 0 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const bool overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool outside = (first == 0xed && byte(1) >= 0xa0) || (first == 0xf4 && byte(1) >= 0x90);
  return overlong || outside ? 0 : length;
}

std::string shorten(const std::string& text) {
  size_t end = 0;
  size_t encoded = 0;
  while (end < text.size()) {
    const size_t length = sequenceLength(std::string_view(text).substr(end));
    const unsigned char first = text[end];
    encoded += first >= 0x20 && first < 0x7f && first != '%' ? 1 : 3 * length;
    if (end + length > kMessageBytes - 3 || encoded > kEncodedMessageBytes)
      return text.substr(0, end) + "...";
    end += length;
  }
  return text;
}

json parametersJson(const Error& error) {
  json parameters = json::object();
  for (const auto& [name, value] : error.parameters()) parameters[name] = asText(value);
  return parameters;
}

void fillContext(const QueryContext& context, FetchErrorDetailsResponse::QueryContext* out) {
  out->set_context_type(FetchErrorDetailsResponse::QueryContext::SQL);
  out->set_start_index(context.startIndex);
  out->set_stop_index(context.stopIndex);
  out->set_fragment(asText(context.fragment));
}

void fillError(const Error& error, FetchErrorDetailsResponse::Error* out) {
  for (const std::string_view name : javaClasses(error)) out->add_error_type_hierarchy(std::string(name));
  out->set_message(asText(error.message()));
  auto* throwable = out->mutable_spark_throwable();
  throwable->set_error_class(error.condition());
  for (const auto& [name, value] : error.parameters())
    (*throwable->mutable_message_parameters())[name] = asText(value);
  if (!error.sqlState().empty()) throwable->set_sql_state(error.sqlState());
  if (error.queryContext()) fillContext(*error.queryContext(), throwable->add_query_contexts());
}

}  // namespace

std::string validUtf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const size_t length = sequenceLength(text);
    valid += length == 0 ? std::string_view("\xef\xbf\xbd") : text.substr(0, length);
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return valid;
}

grpc::Status toStatus(const Error& error, const std::string& errorId) {
  const auto classes = javaClasses(error);
  google::rpc::ErrorInfo info;
  info.set_domain("org.apache.spark");
  info.set_reason(std::string(classes.front()));
  auto& metadata = *info.mutable_metadata();
  metadata["classes"] = json(std::vector<std::string>(classes.begin(), classes.end())).dump();
  metadata["errorClass"] = error.condition();
  if (!error.sqlState().empty()) metadata["sqlState"] = error.sqlState();
  std::string parameters = parametersJson(error).dump();
  if (parameters.size() <= kParameterBytes) metadata["messageParameters"] = std::move(parameters);
  if (!errorId.empty()) metadata["errorId"] = errorId;

  google::rpc::Status details;
  details.set_code(grpc::StatusCode::INTERNAL);
  details.set_message(shorten(asText(error.message())));
  details.add_details()->PackFrom(info);
  return grpc::Status(grpc::StatusCode::INTERNAL, details.message(), details.SerializeAsString());
}

void fillErrorDetails(const Error& error, FetchErrorDetailsResponse* response) {
  response->set_root_error_idx(0);
  const Error* next = &error;
  for (int i = 0; next != nullptr && i < kMaxCauses; ++i) {
    auto* filled = response->add_errors();
    fillError(*next, filled);
    next = next->cause().get();
    if (next != nullptr && i + 1 < kMaxCauses) filled->set_cause_idx(i + 1);
  }
}

}  // namespace thalweg::connect
