#include "connect/test_client.h"

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "spark/connect/base.grpc.pb.h"
#include "spark/connect/base.pb.h"

namespace thalweg::connect {
namespace {

using spark::connect::ExecutePlanResponse;
using spark::connect::SparkConnectService;

StreamResult readAll(grpc::ClientReader<ExecutePlanResponse>& reader) {
  StreamResult result;
  ExecutePlanResponse response;
  while (reader.Read(&response)) result.responses.push_back(response);
  result.status = reader.Finish();
  return result;
}

std::optional<google::rpc::ErrorInfo> errorInfo(const grpc::Status& status) {
  google::rpc::Status details;
  google::rpc::ErrorInfo info;
  if (!details.ParseFromString(status.error_details()) || details.details_size() != 1) return std::nullopt;
  if (!details.details(0).UnpackTo(&info)) return std::nullopt;
  return info;
}

}  // namespace

TestServer::TestServer(ConnectServerOptions options) {
  options.port = 0;
  server = std::make_unique<ConnectServer>(std::move(options), factory);
  server->start();
}

std::shared_ptr<grpc::Channel> TestServer::channel() const {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  return grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(server->port()),
                                   grpc::InsecureChannelCredentials(), arguments);
}

spark::connect::ExecutePlanRequest sqlRequest(const std::string& text, bool reattachable,
                                              const std::string& operationId) {
  spark::connect::ExecutePlanRequest request;
  request.set_session_id(kSessionId);
  request.set_operation_id(operationId);
  request.mutable_plan()->mutable_root()->mutable_sql()->set_query(text);
  request.add_request_options()->mutable_reattach_options()->set_reattachable(reattachable);
  return request;
}

StreamResult execute(TestServer& server, const spark::connect::ExecutePlanRequest& request) {
  const auto stub = SparkConnectService::NewStub(server.channel());
  grpc::ClientContext context;
  return readAll(*stub->ExecutePlan(&context, request));
}

StreamResult reattach(TestServer& server, const std::string& lastResponseId, const std::string& operationId) {
  const auto stub = SparkConnectService::NewStub(server.channel());
  grpc::ClientContext context;
  spark::connect::ReattachExecuteRequest request;
  request.set_session_id(kSessionId);
  request.set_operation_id(operationId);
  if (!lastResponseId.empty()) request.set_last_response_id(lastResponseId);
  return readAll(*stub->ReattachExecute(&context, request));
}

void release(TestServer& server, const std::string& untilResponseId, const std::string& operationId) {
  const auto stub = SparkConnectService::NewStub(server.channel());
  grpc::ClientContext context;
  spark::connect::ReleaseExecuteRequest request;
  request.set_session_id(kSessionId);
  request.set_operation_id(operationId);
  if (untilResponseId.empty()) {
    request.mutable_release_all();
  } else {
    request.mutable_release_until()->set_response_id(untilResponseId);
  }
  spark::connect::ReleaseExecuteResponse response;
  stub->ReleaseExecute(&context, request, &response);
}

void setConfig(TestServer& server, const std::string& key, const std::string& value) {
  const auto stub = SparkConnectService::NewStub(server.channel());
  grpc::ClientContext context;
  spark::connect::ConfigRequest request;
  request.set_session_id(kSessionId);
  auto* pair = request.mutable_operation()->mutable_set()->add_pairs();
  pair->set_key(key);
  pair->set_value(value);
  spark::connect::ConfigResponse response;
  stub->Config(&context, request, &response);
}

std::string conditionOf(const grpc::Status& status) {
  return metadataOf(status, "errorClass").value_or("");
}

std::optional<std::string> metadataOf(const grpc::Status& status, const std::string& key) {
  const auto info = errorInfo(status);
  if (!info || info->metadata().count(key) == 0) return std::nullopt;
  return info->metadata().at(key);
}

}  // namespace thalweg::connect
