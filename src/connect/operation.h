// One ExecutePlan on the server: the responses it made, kept for a client that comes back, and who reads
// them.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/cancellation.h"
#include "common/error.h"
#include "session/service.h"

namespace thalweg::connect {

// A stream that carries an operation's responses to the client. wake and tick may come from any thread.
class OperationReader {
 public:
  virtual ~OperationReader() = default;
  // There may be something to read, or the reader has lost its place.
  virtual void wake() = 0;
  // Comes several times a second.
  virtual void tick() = 0;
};

struct OperationIdentity {
  std::string sessionId;
  std::string serverSideSessionId;
  std::string operationId;
};

struct OperationOptions {
  std::vector<std::string> tags;
  size_t requestHash = 0;  // tells a repeated request from another one under the same id
  bool reattachable = false;
  size_t retryBufferBytes = 0;
  // Zero: no progress messages.
  std::chrono::milliseconds progressInterval{0};
};

enum class OperationState { Running, Succeeded, Failed, Cancelled };

// What a reader gets when it asks.
struct ReadStep {
  enum Kind { Response, Wait, Succeeded, Failed, Displaced };
  Kind kind = Wait;
  grpc::ByteBuffer response;   // Response
  std::optional<Error> error;  // Failed
};

// The producer's side is ResponseSink; readers' side below. All methods may be called from any thread. Memory
// is bounded by twice the retry buffer and one response: a producer waits while more than that is unread, and
// of what was read only the latest responses are kept.
class Operation final : public ResponseSink {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  Operation(OperationIdentity identity, OperationOptions options);

  // ResponseSink. Once the operation has ended complete and fail do nothing and send throws.
  void send(spark::connect::ExecutePlanResponse&& response) override;
  void complete() override;
  void fail(const Error& error) override;
  CancellationToken& cancellation() override { return cancellation_; }

  // Ends the operation with OPERATION_CANCELED at once, whatever its producer does, and cancels the token.
  // False when it had ended before.
  bool cancel(const std::string& why);

  const std::string& id() const { return identity_.operationId; }
  const OperationOptions& options() const { return options_; }
  OperationState state() const;
  // For how long nobody has been attached; zero while somebody is.
  std::chrono::milliseconds detachedFor(TimePoint now) const;

  // Makes `reader` the one that reads, from the response after `afterResponseId` (empty: from the first);
  // whoever read before is displaced. Throws INVALID_CURSOR.POSITION_NOT_FOUND or .POSITION_NOT_AVAILABLE,
  // and then changes nothing.
  void attach(std::shared_ptr<OperationReader> reader, const std::string& afterResponseId);
  // The reader's next response. After Wait the reader is woken once there is more. Only the latest reader
  // gets responses.
  ReadStep next(const OperationReader& reader);
  // Does nothing for a reader that was displaced.
  void detach(const OperationReader& reader);

  // Drops what was read up to and with this response. Unknown ids are ignored.
  void releaseUntil(const std::string& responseId);

  // Sends a sign of life when one is due and passes the tick to the reader.
  void tick(TimePoint now);

 private:
  struct Buffered {
    grpc::ByteBuffer bytes;
    size_t size;
  };

  // The following run under the lock.
  void append(const grpc::Slice& payload);
  size_t unreadBytes() const { return bufferedBytes_ - readBytes_; }
  void dropFront();
  bool end(OperationState state, std::optional<Error> error);
  std::optional<size_t> indexOf(std::string_view responseId) const;

  void wakeReader();

  const OperationIdentity identity_;
  const OperationOptions options_;
  CancellationToken cancellation_;

  mutable std::mutex mutex_;
  std::condition_variable roomMade_;
  std::deque<Buffered> buffer_;
  size_t firstIndex_ = 0;     // of buffer_.front(), counted over the operation's life
  size_t cursor_ = 0;         // index of the next response to read
  size_t bufferedBytes_ = 0;  // of all in buffer_
  size_t readBytes_ = 0;      // of those before the cursor
  std::shared_ptr<OperationReader> reader_;
  OperationState state_ = OperationState::Running;
  std::optional<Error> error_;
  TimePoint detachedSince_;
  TimePoint lastResponse_;
};

}  // namespace thalweg::connect
