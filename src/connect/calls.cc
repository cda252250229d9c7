#include "connect/calls.h"

#include <algorithm>

#include "connect/error_status.h"
#include "spark/connect/base.pb.h"

namespace thalweg::connect {
namespace {

template <typename Request>
SessionKey keyOf(int token, const Request& request) {
  return {token, request.user_context().user_id(), request.session_id()};
}

template <typename Request>
std::shared_ptr<ClientSession> openSession(ServerState& state, int token, const Request& request) {
  return state.sessions.getOrCreate(keyOf(token, request), request.client_observed_server_side_session_id());
}

template <typename Response>
void setSession(const ClientSession& session, Response* response) {
  response->set_session_id(session.key().sessionId);
  response->set_server_side_session_id(session.serverSideId());
}

bool isInterrupted(const spark::connect::InterruptRequest& request, const Operation& operation) {
  using spark::connect::InterruptRequest;
  switch (request.interrupt_type()) {
    case InterruptRequest::INTERRUPT_TYPE_ALL:
      return true;
    case InterruptRequest::INTERRUPT_TYPE_OPERATION_ID:
      return operation.id() == request.operation_id();
    case InterruptRequest::INTERRUPT_TYPE_TAG: {
      const auto& tags = operation.options().tags;
      return std::find(tags.begin(), tags.end(), request.operation_tag()) != tags.end();
    }
    default:
      throw unsupported("Interrupt without a type of what to interrupt");
  }
}

spark::connect::GetStatusResponse::OperationStatus::OperationState wireState(OperationState state) {
  using Status = spark::connect::GetStatusResponse::OperationStatus;
  switch (state) {
    case OperationState::Running:
      return Status::OPERATION_STATE_RUNNING;
    case OperationState::Succeeded:
      return Status::OPERATION_STATE_SUCCEEDED;
    case OperationState::Failed:
      return Status::OPERATION_STATE_FAILED;
    case OperationState::Cancelled:
      return Status::OPERATION_STATE_CANCELLED;
  }
  return Status::OPERATION_STATE_UNKNOWN;
}

}  // namespace

void analyzePlan(ServerState& state, int token, const spark::connect::AnalyzePlanRequest& request,
                 spark::connect::AnalyzePlanResponse* response) {
  const auto session = openSession(state, token, request);
  session->service().analyze(request, response);
  setSession(*session, response);
}

void config(ServerState& state, int token, const spark::connect::ConfigRequest& request,
            spark::connect::ConfigResponse* response) {
  const auto session = openSession(state, token, request);
  session->service().config(request, response);
  setSession(*session, response);
}

void artifactStatus(ServerState& state, int token, const spark::connect::ArtifactStatusesRequest& request,
                    spark::connect::ArtifactStatusesResponse* response) {
  const auto session = openSession(state, token, request);
  for (const std::string& name : request.names()) {
    (*response->mutable_statuses())[name].set_exists(session->service().hasArtifact(name));
  }
  setSession(*session, response);
}

void interrupt(ServerState& state, int token, const spark::connect::InterruptRequest& request,
               spark::connect::InterruptResponse* response) {
  const auto session = openSession(state, token, request);
  for (const auto& operation : session->operations()) {
    if (!isInterrupted(request, *operation)) continue;
    if (operation->cancel("The operation was interrupted by its user."))
      response->add_interrupted_ids(operation->id());
  }
  setSession(*session, response);
}

void releaseExecute(ServerState& state, int token, const spark::connect::ReleaseExecuteRequest& request,
                    spark::connect::ReleaseExecuteResponse* response) {
  const auto session =
      state.sessions.get(keyOf(token, request), request.client_observed_server_side_session_id());
  setSession(*session, response);
  const auto operation = session->findOperation(request.operation_id());
  if (operation == nullptr) return;
  response->set_operation_id(operation->id());
  if (request.has_release_until()) {
    operation->releaseUntil(request.release_until().response_id());
  } else {
    session->removeOperation(operation->id());
  }
}

void releaseSession(ServerState& state, int token, const spark::connect::ReleaseSessionRequest& request,
                    spark::connect::ReleaseSessionResponse* response) {
  response->set_session_id(request.session_id());
  const auto session = state.sessions.release(keyOf(token, request), request.allow_reconnect());
  if (session != nullptr) response->set_server_side_session_id(session->serverSideId());
}

void fetchErrorDetails(ServerState& state, int token, const spark::connect::FetchErrorDetailsRequest& request,
                       spark::connect::FetchErrorDetailsResponse* response) {
  const SessionKey key = keyOf(token, request);
  response->set_session_id(request.session_id());
  // The error may be that the session is gone.
  if (const auto session = state.sessions.find(key))
    response->set_server_side_session_id(session->serverSideId());
  if (const auto error = state.errors.take(key, request.error_id())) fillErrorDetails(*error, response);
}

void cloneSession(ServerState& state, int token, const spark::connect::CloneSessionRequest& request,
                  spark::connect::CloneSessionResponse* response) {
  throw unsupported("CloneSession");
}

void getStatus(ServerState& state, int token, const spark::connect::GetStatusRequest& request,
               spark::connect::GetStatusResponse* response) {
  using Status = spark::connect::GetStatusResponse::OperationStatus;
  const auto session = openSession(state, token, request);
  setSession(*session, response);
  if (!request.has_operation_status()) return;
  const auto add = [&](const std::string& id, Status::OperationState known) {
    auto* status = response->add_operation_statuses();
    status->set_operation_id(id);
    status->set_state(known);
  };
  for (const std::string& id : request.operation_status().operation_ids()) {
    const auto operation = session->findOperation(id);
    add(id, operation ? wireState(operation->state()) : Status::OPERATION_STATE_UNKNOWN);
  }
  if (request.operation_status().operation_ids_size() > 0) return;
  for (const auto& operation : session->operations()) add(operation->id(), wireState(operation->state()));
}

}  // namespace thalweg::connect
