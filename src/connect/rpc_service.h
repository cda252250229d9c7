// The gRPC service spark.connect.SparkConnectService over raw bytes.
#pragma once

#include <memory>

#include "connect/server_state.h"

namespace grpc {
class Service;
}

namespace thalweg::connect {

// The service keeps a reference to `state`. No thread of gRPC runs a plan or parses one.
std::unique_ptr<grpc::Service> makeRpcService(ServerState& state);

}  // namespace thalweg::connect
