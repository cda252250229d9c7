// What each call with one request and one response does. Their errors leave as Error.
#pragma once

#include "connect/server_state.h"

namespace spark::connect {
class AnalyzePlanRequest;
class AnalyzePlanResponse;
class ArtifactStatusesRequest;
class ArtifactStatusesResponse;
class CloneSessionRequest;
class CloneSessionResponse;
class ConfigRequest;
class ConfigResponse;
class FetchErrorDetailsRequest;
class FetchErrorDetailsResponse;
class GetStatusRequest;
class GetStatusResponse;
class InterruptRequest;
class InterruptResponse;
class ReleaseExecuteRequest;
class ReleaseExecuteResponse;
class ReleaseSessionRequest;
class ReleaseSessionResponse;
}  // namespace spark::connect

namespace thalweg::connect {

// `token` is the caller's number (TokenList::identify); the response is empty when it comes in.
void analyzePlan(ServerState& state, int token, const spark::connect::AnalyzePlanRequest& request,
                 spark::connect::AnalyzePlanResponse* response);
void config(ServerState& state, int token, const spark::connect::ConfigRequest& request,
            spark::connect::ConfigResponse* response);
void artifactStatus(ServerState& state, int token, const spark::connect::ArtifactStatusesRequest& request,
                    spark::connect::ArtifactStatusesResponse* response);
void interrupt(ServerState& state, int token, const spark::connect::InterruptRequest& request,
               spark::connect::InterruptResponse* response);
void releaseExecute(ServerState& state, int token, const spark::connect::ReleaseExecuteRequest& request,
                    spark::connect::ReleaseExecuteResponse* response);
void releaseSession(ServerState& state, int token, const spark::connect::ReleaseSessionRequest& request,
                    spark::connect::ReleaseSessionResponse* response);
void fetchErrorDetails(ServerState& state, int token, const spark::connect::FetchErrorDetailsRequest& request,
                       spark::connect::FetchErrorDetailsResponse* response);
void cloneSession(ServerState& state, int token, const spark::connect::CloneSessionRequest& request,
                  spark::connect::CloneSessionResponse* response);
void getStatus(ServerState& state, int token, const spark::connect::GetStatusRequest& request,
               spark::connect::GetStatusResponse* response);

}  // namespace thalweg::connect
