// The gRPC side of ExecutePlan and ReattachExecute: writes an operation's responses one by one, holding no
// thread.
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <chrono>
#include <memory>
#include <mutex>

#include "common/error.h"
#include "connect/client_session.h"
#include "connect/error_store.h"
#include "connect/operation.h"

namespace thalweg::connect {

// Made for one call; keeps itself alive until gRPC is done with it. After `make`, exactly one of `follow` and
// `refuse` is called, from any thread.
class ResponseStream final : public grpc::ServerWriteReactor<grpc::ByteBuffer>, public OperationReader {
 public:
  static std::shared_ptr<ResponseStream> make(ErrorStore& errors);

  struct Rotation {
    std::chrono::milliseconds duration;
    int64_t bytes;
  };
  // Carries the operation's responses from the one after `afterResponseId` to its end. Throws as
  // Operation::attach does; then refuse is still to be called.
  void follow(std::shared_ptr<ClientSession> session, std::shared_ptr<Operation> operation,
              const std::string& afterResponseId, Rotation rotation);
  void refuse(const grpc::Status& status);

  void wake() override { pump(); }
  void tick() override { pump(); }

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  explicit ResponseStream(ErrorStore& errors) : errors_(errors) {}

  void pump();
  // Under the lock. True when the stream should end so that the client attaches again.
  bool rotationDue() const;
  // A client may go while a write is under way or before the operation is known; then the stream ends after
  // that.
  void finishIfCancelled();

  ErrorStore& errors_;
  std::shared_ptr<ResponseStream> self_;

  std::mutex mutex_;
  std::shared_ptr<ClientSession> session_;
  std::shared_ptr<Operation> operation_;
  Rotation rotation_{};
  std::chrono::steady_clock::time_point started_;
  grpc::ByteBuffer writing_;
  bool isWriting_ = false;
  bool isFinished_ = false;
  bool isCancelled_ = false;
  int64_t sentBytes_ = 0;
  int64_t sentResponses_ = 0;
};

}  // namespace thalweg::connect
