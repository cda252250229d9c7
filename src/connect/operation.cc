#include "connect/operation.h"

#include <charconv>

#include <fmt/format.h>

#include "connect/byte_buffers.h"
#include "spark/connect/base.pb.h"

namespace thalweg::connect {
namespace {

using spark::connect::ExecutePlanResponse;

Error cancelled(const std::string& operationId, const std::string& why) {
  return Error("OPERATION_CANCELED", why, {{"operationId", operationId}});
}

Error cursorError(const std::string& condition, const std::string& text, const std::string& responseId) {
  return Error("INVALID_CURSOR." + condition, text, {{"responseId", responseId}});
}

}  // namespace

Operation::Operation(OperationIdentity identity, OperationOptions options)
    : identity_(std::move(identity)),
      options_(std::move(options)),
      detachedSince_(std::chrono::steady_clock::now()),
      lastResponse_(detachedSince_) {}

void Operation::send(ExecutePlanResponse&& response) {
  response.set_session_id(identity_.sessionId);
  response.set_server_side_session_id(identity_.serverSideSessionId);
  response.set_operation_id(identity_.operationId);
  const grpc::Slice payload = serializeToSlice(response);
  {
    std::unique_lock lock(mutex_);
    roomMade_.wait(lock, [&] {
      return state_ != OperationState::Running || unreadBytes() <= options_.retryBufferBytes;
    });
    if (state_ != OperationState::Running)
      throw cancelled(id(), "The operation has ended; it takes no more results.");
    append(payload);
  }
  wakeReader();
}

void Operation::complete() {
  ExecutePlanResponse last;
  last.set_session_id(identity_.sessionId);
  last.set_server_side_session_id(identity_.serverSideSessionId);
  last.set_operation_id(identity_.operationId);
  last.mutable_result_complete();
  const grpc::Slice payload = serializeToSlice(last);
  {
    std::lock_guard lock(mutex_);
    if (state_ != OperationState::Running) return;
    if (options_.reattachable) append(payload);
    end(OperationState::Succeeded, std::nullopt);
  }
  wakeReader();
}

void Operation::fail(const Error& error) {
  {
    std::lock_guard lock(mutex_);
    const bool wasCancelled = error.condition() == "OPERATION_CANCELED";
    if (!end(wasCancelled ? OperationState::Cancelled : OperationState::Failed, error)) return;
  }
  wakeReader();
}

bool Operation::cancel(const std::string& why) {
  bool ended;
  {
    std::lock_guard lock(mutex_);
    ended = end(OperationState::Cancelled, cancelled(id(), why));
  }
  // Also when it had ended: a producer may still be at work.
  cancellation_.cancel();
  if (ended) wakeReader();
  return ended;
}

OperationState Operation::state() const {
  std::lock_guard lock(mutex_);
  return state_;
}

std::chrono::milliseconds Operation::detachedFor(TimePoint now) const {
  std::lock_guard lock(mutex_);
  if (reader_ != nullptr || now < detachedSince_) return std::chrono::milliseconds(0);
  return std::chrono::duration_cast<std::chrono::milliseconds>(now - detachedSince_);
}

void Operation::attach(std::shared_ptr<OperationReader> reader, const std::string& afterResponseId) {
  std::shared_ptr<OperationReader> displaced;
  {
    std::lock_guard lock(mutex_);
    size_t from = 0;
    if (!afterResponseId.empty()) {
      const auto index = indexOf(afterResponseId);
      if (!index) {
        throw cursorError("POSITION_NOT_FOUND", "The operation has no response " + afterResponseId + ".",
                          afterResponseId);
      }
      from = *index + 1;
    }
    if (from < firstIndex_) {
      throw cursorError(
          "POSITION_NOT_AVAILABLE",
          fmt::format("The responses after '{}' (index {}) are no longer kept.", afterResponseId, from),
          afterResponseId);
    }
    cursor_ = from;
    readBytes_ = 0;
    for (size_t i = firstIndex_; i < cursor_; ++i) readBytes_ += buffer_[i - firstIndex_].size;
    displaced = std::exchange(reader_, std::move(reader));
  }
  if (displaced) displaced->wake();
}

ReadStep Operation::next(const OperationReader& reader) {
  ReadStep step;
  std::lock_guard lock(mutex_);
  if (reader_.get() != &reader) {
    step.kind = ReadStep::Displaced;
  } else if (cursor_ < firstIndex_ + buffer_.size()) {
    const Buffered& response = buffer_[cursor_ - firstIndex_];
    step.kind = ReadStep::Response;
    step.response = response.bytes;
    readBytes_ += response.size;
    ++cursor_;
    const size_t kept = options_.reattachable ? options_.retryBufferBytes : 0;
    // The response just read stays in any case: the client that loses it comes back for it.
    while (readBytes_ > kept && firstIndex_ + 1 < cursor_) dropFront();
    roomMade_.notify_all();
  } else if (state_ == OperationState::Succeeded) {
    step.kind = ReadStep::Succeeded;
  } else if (state_ != OperationState::Running) {
    step.kind = ReadStep::Failed;
    step.error = error_;
  }
  return step;
}

void Operation::detach(const OperationReader& reader) {
  std::shared_ptr<OperationReader> detached;
  std::lock_guard lock(mutex_);
  if (reader_.get() != &reader) return;
  detached = std::exchange(reader_, nullptr);
  detachedSince_ = std::chrono::steady_clock::now();
}

void Operation::releaseUntil(const std::string& responseId) {
  std::lock_guard lock(mutex_);
  const auto index = indexOf(responseId);
  if (!index) return;
  while (firstIndex_ <= *index && firstIndex_ < cursor_) dropFront();
}

void Operation::tick(TimePoint now) {
  std::shared_ptr<OperationReader> reader;
  bool signOfLife = false;
  {
    std::lock_guard lock(mutex_);
    reader = reader_;
    const bool allRead = cursor_ == firstIndex_ + buffer_.size();
    signOfLife = reader && state_ == OperationState::Running && allRead &&
                 options_.progressInterval.count() > 0 && now - lastResponse_ >= options_.progressInterval;
    if (signOfLife) {
      ExecutePlanResponse progress;
      progress.set_session_id(identity_.sessionId);
      progress.set_server_side_session_id(identity_.serverSideSessionId);
      progress.set_operation_id(identity_.operationId);
      progress.mutable_execution_progress();
      append(serializeToSlice(progress));
    }
  }
  if (!reader) return;
  if (signOfLife) reader->wake();
  reader->tick();
}

void Operation::append(const grpc::Slice& payload) {
  // The id travels as a field after the rest of the message, so that the message is serialized outside the
  // lock.
  const std::string responseId = fmt::format("{}_{}", identity_.operationId, firstIndex_ + buffer_.size());
  ExecutePlanResponse idOnly;
  idOnly.set_response_id(responseId);
  const grpc::Slice slices[] = {payload, serializeToSlice(idOnly)};
  const size_t size = slices[0].size() + slices[1].size();
  buffer_.push_back({grpc::ByteBuffer(slices, 2), size});
  bufferedBytes_ += size;
  lastResponse_ = std::chrono::steady_clock::now();
}

void Operation::dropFront() {
  const size_t size = buffer_.front().size;
  bufferedBytes_ -= size;
  readBytes_ -= size;
  buffer_.pop_front();
  ++firstIndex_;
}

bool Operation::end(OperationState state, std::optional<Error> error) {
  if (state_ != OperationState::Running) return false;
  state_ = state;
  error_ = std::move(error);
  roomMade_.notify_all();
  return true;
}

std::optional<size_t> Operation::indexOf(std::string_view responseId) const {
  const std::string& prefix = identity_.operationId;
  if (responseId.size() < prefix.size() + 2 || responseId.substr(0, prefix.size()) != prefix ||
      responseId[prefix.size()] != '_') {
    return std::nullopt;
  }
  const std::string_view digits = responseId.substr(prefix.size() + 1);
  size_t index = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size()) return std::nullopt;
  return index < firstIndex_ + buffer_.size() ? std::optional(index) : std::nullopt;
}

void Operation::wakeReader() {
  std::shared_ptr<OperationReader> reader;
  {
    std::lock_guard lock(mutex_);
    reader = reader_;
  }
  if (reader) reader->wake();
}

}  // namespace thalweg::connect
