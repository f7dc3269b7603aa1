#include "plugind/kubelet/list_watch_stream.h"

#include <utility>

namespace vfiogate {

std::shared_ptr<ListWatchStream> ListWatchStream::open(Ended ended) {
  std::shared_ptr<ListWatchStream> stream(new ListWatchStream(std::move(ended)));
  stream->self_ = stream;
  return stream;
}

void ListWatchStream::show(std::shared_ptr<const FrameMessage> newest) {
  std::unique_lock lock(mutex_);
  waiting_ = std::move(newest);
  const Next next = decideLocked();
  lock.unlock();
  act(next);
}

void ListWatchStream::end(grpc::Status status) {
  std::unique_lock lock(mutex_);
  if (ending_) return;
  ending_ = true;
  last_ = std::move(status);
  const Next next = decideLocked();
  lock.unlock();
  act(next);
}

std::shared_ptr<const FrameMessage> ListWatchStream::said() const {
  const std::lock_guard lock(mutex_);
  return said_;
}

ListWatchStream::Next ListWatchStream::decideLocked() {
  if (writing_ || finished_) return Next::kNothing;
  if (ending_) {
    finished_ = true;
    return Next::kFinish;
  }
  if (!waiting_) return Next::kNothing;
  said_ = std::move(waiting_);
  waiting_ = nullptr;
  writing_ = true;
  return Next::kWrite;
}

void ListWatchStream::act(Next next) {
  // said_ and last_ stay as they are from here on: no second write begins and nothing finishes
  // before OnWriteDone, and nothing follows kFinish.
  if (next == Next::kWrite) StartWrite(&said_->message);
  if (next == Next::kFinish) Finish(last_);
}

void ListWatchStream::OnWriteDone(bool written) {
  std::unique_lock lock(mutex_);
  writing_ = false;
  if (!written) ending_ = true;
  const Next next = decideLocked();
  lock.unlock();
  act(next);
}

void ListWatchStream::OnCancel() {
  end(grpc::Status(grpc::StatusCode::CANCELLED, "the kubelet ended the stream"));
}

void ListWatchStream::OnDone() {
  const std::shared_ptr<ListWatchStream> self = std::move(self_);
  ended_(*this);
}

}  // namespace vfiogate
