#include "connect/response_stream.h"

#include "connect/error_status.h"

namespace thalweg::connect {
namespace {

const grpc::Status kClientGone(grpc::StatusCode::CANCELLED, "The client has gone.");

}  // namespace

std::shared_ptr<ResponseStream> ResponseStream::make(ErrorStore& errors) {
  std::shared_ptr<ResponseStream> stream(new ResponseStream(errors));
  stream->self_ = stream;
  return stream;
}

void ResponseStream::follow(std::shared_ptr<ClientSession> session, std::shared_ptr<Operation> operation,
                            const std::string& afterResponseId, Rotation rotation) {
  {
    std::lock_guard lock(mutex_);
    started_ = std::chrono::steady_clock::now();
    rotation_ = rotation;
  }
  // Outside the lock, for it wakes the reader that was there before. Nothing is read before operation_ is
  // set.
  operation->attach(self_, afterResponseId);
  {
    std::lock_guard lock(mutex_);
    session_ = std::move(session);
    operation_ = std::move(operation);
  }
  pump();
  finishIfCancelled();
}

void ResponseStream::refuse(const grpc::Status& status) {
  {
    std::lock_guard lock(mutex_);
    isFinished_ = true;
  }
  Finish(status);
}

void ResponseStream::pump() {
  std::unique_lock lock(mutex_);
  if (operation_ == nullptr || isWriting_ || isFinished_ || isCancelled_) return;
  ReadStep step;
  if (sentResponses_ == 0 || !rotationDue()) step = operation_->next(*this);
  if (step.kind == ReadStep::Wait && !rotationDue()) return;
  if (step.kind == ReadStep::Response) {
    writing_ = std::move(step.response);
    isWriting_ = true;
    sentBytes_ += static_cast<int64_t>(writing_.Length());
    ++sentResponses_;
    lock.unlock();
    StartWrite(&writing_);
    return;
  }
  isFinished_ = true;
  const auto session = std::move(session_);
  const auto operation = std::move(operation_);
  lock.unlock();
  operation->detach(*this);
  const bool atEnd = step.kind == ReadStep::Succeeded || step.kind == ReadStep::Failed;
  grpc::Status status;
  if (step.kind == ReadStep::Displaced) {
    step.error = Error("INVALID_CURSOR.DISCONNECTED", "Another call reads this operation's results now.");
  }
  if (step.error) status = toStatus(*step.error, errors_.keep(session->key(), *step.error));
  if (atEnd && !operation->options().reattachable) session->removeOperation(operation->id());
  Finish(status);
}

bool ResponseStream::rotationDue() const {
  if (!operation_->options().reattachable) return false;
  return sentBytes_ >= rotation_.bytes || std::chrono::steady_clock::now() - started_ >= rotation_.duration;
}

void ResponseStream::OnWriteDone(bool ok) {
  {
    std::lock_guard lock(mutex_);
    isWriting_ = false;
    writing_.Clear();
    if (!ok) isCancelled_ = true;
  }
  pump();
  finishIfCancelled();
}

void ResponseStream::OnCancel() {
  {
    std::lock_guard lock(mutex_);
    isCancelled_ = true;
  }
  finishIfCancelled();
}

void ResponseStream::finishIfCancelled() {
  std::shared_ptr<ClientSession> session;
  std::shared_ptr<Operation> operation;
  {
    std::lock_guard lock(mutex_);
    if (!isCancelled_ || isFinished_ || isWriting_ || operation_ == nullptr) return;
    isFinished_ = true;
    session = std::move(session_);
    operation = std::move(operation_);
  }
  operation->detach(*this);
  if (!operation->options().reattachable) session->removeOperation(operation->id());
  Finish(kClientGone);
}

void ResponseStream::OnDone() {
  const auto keptUntilHere = std::move(self_);
}

}  // namespace thalweg::connect
