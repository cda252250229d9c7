#include "connect/rpc_service.h"

#include <google/protobuf/arena.h>
#include <grpcpp/grpcpp.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "common/logging.h"
#include "common/uuid.h"
#include "connect/artifact_upload.h"
#include "connect/byte_buffers.h"
#include "connect/calls.h"
#include "connect/error_status.h"
#include "connect/message_bytes.h"
#include "connect/response_stream.h"
#include "connect/settings.h"
#include "spark/connect/base.grpc.pb.h"
#include "spark/connect/base.pb.h"

namespace thalweg::connect {
namespace {

using grpc::ByteBuffer;
using grpc::CallbackServerContext;
using spark::connect::SparkConnectService;

// Every method takes bytes: the generated parsing stops at 100 levels.
using RawService = SparkConnectService::WithRawCallbackMethod_ExecutePlan<
    SparkConnectService::WithRawCallbackMethod_AnalyzePlan<SparkConnectService::WithRawCallbackMethod_Config<
        SparkConnectService::WithRawCallbackMethod_AddArtifacts<
            SparkConnectService::WithRawCallbackMethod_ArtifactStatus<
                SparkConnectService::WithRawCallbackMethod_Interrupt<
                    SparkConnectService::WithRawCallbackMethod_ReattachExecute<
                        SparkConnectService::WithRawCallbackMethod_ReleaseExecute<
                            SparkConnectService::WithRawCallbackMethod_ReleaseSession<
                                SparkConnectService::WithRawCallbackMethod_FetchErrorDetails<
                                    SparkConnectService::WithRawCallbackMethod_CloneSession<
                                        SparkConnectService::WithRawCallbackMethod_GetStatus<
                                            SparkConnectService::Service>>>>>>>>>>>>;

grpc::Status unauthenticated() {
  return grpc::Status(grpc::StatusCode::UNAUTHENTICATED,
                      "The call has no valid token; connect with sc://host:port/;token=... or set "
                      "SPARK_CONNECT_AUTHENTICATE_TOKEN.");
}

grpc::Status shuttingDown() {
  return grpc::Status(grpc::StatusCode::UNAVAILABLE, "The server is shutting down.");
}

std::optional<int> identifyCaller(const ServerState& state, const CallbackServerContext& context) {
  const auto header = context.client_metadata().find("authorization");
  if (header == context.client_metadata().end()) return state.tokens.identify({});
  return state.tokens.identify({header->second.data(), header->second.size()});
}

template <typename Request>
SessionKey keyOf(int token, const Request& request) {
  return {token, request.user_context().user_id(), request.session_id()};
}

template <typename Request>
void parse(std::string_view bytes, const Limits& limits, Request* request) {
  if constexpr (std::is_same_v<Request, spark::connect::ExecutePlanRequest> ||
                std::is_same_v<Request, spark::connect::AnalyzePlanRequest>) {
    parseRequest(bytes, limits, request);
  } else {
    parseMessage(bytes, limits, request);
  }
}

// Call inside a catch block.
grpc::Status currentExceptionAsStatus(ServerState& state, const SessionKey& owner, std::string_view call) {
  const Error error = currentExceptionAsError();
  logInfo("{} of session {} failed: {}", call, owner.sessionId, error.message());
  return toStatus(error, state.errors.keep(owner, error));
}

// One call with one request and one response, on a worker's thread.
template <typename Request, typename Response>
grpc::Status answer(ServerState& state, int token, std::string_view call, const ByteBuffer& requestBytes,
                    ByteBuffer* responseBytes,
                    void (*handler)(ServerState&, int, const Request&, Response*)) {
  SessionKey owner;
  try {
    google::protobuf::Arena arena;
    auto* request = google::protobuf::Arena::CreateMessage<Request>(&arena);
    auto* response = google::protobuf::Arena::CreateMessage<Response>(&arena);
    const ContiguousBytes bytes(requestBytes);
    parse(bytes.view(), state.limits, request);
    owner = keyOf(token, *request);
    logDebug("{} of session {}, {} bytes", call, owner.sessionId, bytes.view().size());
    handler(state, token, *request, response);
    const grpc::Slice slice = serializeToSlice(*response);
    *responseBytes = ByteBuffer(&slice, 1);
    return grpc::Status::OK;
  } catch (...) {
    return currentExceptionAsStatus(state, owner, call);
  }
}

template <typename Request, typename Response>
grpc::ServerUnaryReactor* unary(ServerState& state, WorkerPool& pool, CallbackServerContext* context,
                                std::string_view call, const ByteBuffer* request, ByteBuffer* response,
                                void (*handler)(ServerState&, int, const Request&, Response*)) {
  auto* reactor = context->DefaultReactor();
  const auto token = identifyCaller(state, *context);
  if (!token) {
    reactor->Finish(unauthenticated());
    return reactor;
  }
  const bool posted = pool.post([&state, reactor, call, request, response, handler, token] {
    reactor->Finish(answer(state, *token, call, *request, response, handler));
  });
  if (!posted) reactor->Finish(shuttingDown());
  return reactor;
}

ResponseStream::Rotation rotationOf(const ServerState& state, SessionService& session) {
  return {durationSetting(session, "spark.connect.execute.reattachable.senderMaxStreamDuration",
                          state.limits.streamDuration),
          byteSizeSetting(session, "spark.connect.execute.reattachable.senderMaxStreamSize",
                          state.limits.streamBytes)};
}

OperationOptions operationOptions(const spark::connect::ExecutePlanRequest& request, std::string_view bytes) {
  OperationOptions options;
  options.requestHash = std::hash<std::string_view>()(bytes);
  for (const auto& option : request.request_options()) {
    if (option.has_reattach_options()) options.reattachable = option.reattach_options().reattachable();
  }
  options.tags.assign(request.tags().begin(), request.tags().end());
  return options;
}

void run(SessionService& session, const spark::connect::ExecutePlanRequest& request,
         const std::shared_ptr<Operation>& operation) {
  try {
    session.execute(request, operation);
  } catch (...) {
    const Error error = currentExceptionAsError();
    logInfo("operation {} failed: {}", operation->id(), error.message());
    operation->fail(error);
  }
}

// A client whose connection broke before the first response sends the same request again: it gets the
// operation that runs.
std::shared_ptr<Operation> repeatedOperation(const ClientSession& session, const std::string& operationId,
                                             const OperationOptions& options) {
  const auto running = session.findOperation(operationId);
  const bool same = running && options.reattachable && running->options().reattachable &&
                    running->options().requestHash == options.requestHash;
  return same ? running : nullptr;
}

void executePlan(ServerState& state, int token, const ByteBuffer& requestBytes, ResponseStream& stream) {
  SessionKey owner;
  google::protobuf::Arena arena;
  auto* request = google::protobuf::Arena::CreateMessage<spark::connect::ExecutePlanRequest>(&arena);
  std::shared_ptr<ClientSession> session;
  std::shared_ptr<Operation> operation;
  bool repeated = false;
  try {
    const ContiguousBytes bytes(requestBytes);
    parse(bytes.view(), state.limits, request);
    owner = keyOf(token, *request);
    session = state.sessions.getOrCreate(owner, request->client_observed_server_side_session_id());
    OperationOptions options = operationOptions(*request, bytes.view());
    const std::string operationId = request->has_operation_id() ? request->operation_id() : randomUuid();
    request->set_operation_id(operationId);
    logDebug("ExecutePlan {} of session {}, {} bytes", operationId, owner.sessionId, bytes.view().size());
    operation = repeatedOperation(*session, operationId, options);
    repeated = operation != nullptr;
    if (!repeated) operation = session->addOperation(operationId, std::move(options));
    stream.follow(session, operation, "", rotationOf(state, session->service()));
  } catch (...) {
    stream.refuse(currentExceptionAsStatus(state, owner, "ExecutePlan"));
    return;
  }
  if (!repeated) run(session->service(), *request, operation);
}

void reattachExecute(ServerState& state, int token, const ByteBuffer& requestBytes, ResponseStream& stream) {
  SessionKey owner;
  try {
    google::protobuf::Arena arena;
    auto* request = google::protobuf::Arena::CreateMessage<spark::connect::ReattachExecuteRequest>(&arena);
    parseMessage(ContiguousBytes(requestBytes).view(), state.limits, request);
    owner = keyOf(token, *request);
    const auto session = state.sessions.get(owner, request->client_observed_server_side_session_id());
    const auto operation = session->operation(request->operation_id());
    if (!operation->options().reattachable) {
      throw Error("INVALID_CURSOR.NOT_REATTACHABLE",
                  "The operation was not started as one that can be reattached.");
    }
    stream.follow(session, operation, request->last_response_id(), rotationOf(state, session->service()));
  } catch (...) {
    stream.refuse(currentExceptionAsStatus(state, owner, "ReattachExecute"));
  }
}

// AddArtifacts: checks and stores each piece as it comes.
class ArtifactStream final : public grpc::ServerReadReactor<ByteBuffer> {
 public:
  ArtifactStream(ServerState& state, std::optional<int> token, ByteBuffer* response)
      : state_(state), token_(token), response_(response) {
    if (token_) {
      StartRead(&request_);
    } else {
      Finish(unauthenticated());
    }
  }

  void OnReadDone(bool ok) override {
    try {
      if (ok) {
        accept();
        request_.Clear();
        StartRead(&request_);
        return;
      }
      spark::connect::AddArtifactsResponse response;
      if (upload_) upload_->finish(&response);
      const grpc::Slice slice = serializeToSlice(response);
      *response_ = ByteBuffer(&slice, 1);
      Finish(grpc::Status::OK);
    } catch (...) {
      Finish(currentExceptionAsStatus(state_, owner_, "AddArtifacts"));
    }
  }

  void OnDone() override { delete this; }

 private:
  void accept() {
    spark::connect::AddArtifactsRequest request;
    parseMessage(ContiguousBytes(request_).view(), state_.limits, &request);
    if (!upload_) {
      owner_ = keyOf(*token_, request);
      upload_.emplace(state_.sessions.getOrCreate(owner_, request.client_observed_server_side_session_id()));
    }
    upload_->accept(request);
  }

  ServerState& state_;
  const std::optional<int> token_;
  ByteBuffer* const response_;
  ByteBuffer request_;
  SessionKey owner_;
  std::optional<ArtifactUpload> upload_;
};

class RpcService final : public RawService {
 public:
  explicit RpcService(ServerState& state) : state_(state) {}

  grpc::ServerWriteReactor<ByteBuffer>* ExecutePlan(CallbackServerContext* context,
                                                    const ByteBuffer* request) override {
    return stream(*context, *request, &executePlan, state_.executions);
  }
  grpc::ServerWriteReactor<ByteBuffer>* ReattachExecute(CallbackServerContext* context,
                                                        const ByteBuffer* request) override {
    return stream(*context, *request, &reattachExecute, state_.calls);
  }
  grpc::ServerReadReactor<ByteBuffer>* AddArtifacts(CallbackServerContext* context,
                                                    ByteBuffer* response) override {
    return new ArtifactStream(state_, identifyCaller(state_, *context), response);
  }

#define THALWEG_UNARY(Method, handler, pool)                                                   \
  grpc::ServerUnaryReactor* Method(CallbackServerContext* context, const ByteBuffer* request,  \
                                   ByteBuffer* response) override {                            \
    return unary(state_, state_.pool, context, #Method, request, response, &connect::handler); \
  }
  THALWEG_UNARY(AnalyzePlan, analyzePlan, executions)
  THALWEG_UNARY(Config, config, calls)
  THALWEG_UNARY(ArtifactStatus, artifactStatus, calls)
  THALWEG_UNARY(Interrupt, interrupt, calls)
  THALWEG_UNARY(ReleaseExecute, releaseExecute, calls)
  THALWEG_UNARY(ReleaseSession, releaseSession, calls)
  THALWEG_UNARY(FetchErrorDetails, fetchErrorDetails, calls)
  THALWEG_UNARY(CloneSession, cloneSession, calls)
  THALWEG_UNARY(GetStatus, getStatus, calls)
#undef THALWEG_UNARY

 private:
  using StreamHandler = void (*)(ServerState&, int, const ByteBuffer&, ResponseStream&);

  grpc::ServerWriteReactor<ByteBuffer>* stream(CallbackServerContext& context, const ByteBuffer& request,
                                               StreamHandler handler, WorkerPool& pool) {
    auto stream = ResponseStream::make(state_.errors);
    auto* reactor = stream.get();
    const auto token = identifyCaller(state_, context);
    if (!token) {
      stream->refuse(unauthenticated());
      return reactor;
    }
    // The bytes are shared, not copied: the request may end before the plan does.
    const bool posted = pool.post([this, handler, bytes = request, token = *token, stream]() mutable {
      handler(state_, token, bytes, *stream);
    });
    if (!posted) stream->refuse(shuttingDown());
    return reactor;
  }

  ServerState& state_;
};

}  // namespace

std::unique_ptr<grpc::Service> makeRpcService(ServerState& state) {
  return std::make_unique<RpcService>(state);
}

}  // namespace thalweg::connect
