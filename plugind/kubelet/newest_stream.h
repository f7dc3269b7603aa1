#pragma once
// A stream to the kubelet whose messages each replace the one before.

#include "plugind/rpc/served_call.h"

#include <memory>
#include <mutex>
#include <utility>

namespace vfiogate {

/// The newest message wins, one write in flight: a kubelet that does not read costs two messages of
/// memory, however many are shown. `Held` has the one that goes over the wire as its `message`.
template <typename Held>
class NewestStream : public CallObserver {
public:
  /// Any thread: says this next, in place of one that still waits.
  void show(std::shared_ptr<const Held> newest);

  /// Any thread: ends the call from our side, after the write in flight.
  void end(grpc::Status status);

  /// The last one whose sending began: what the kubelet may know. Null before the first.
  std::shared_ptr<const Held> said() const;

protected:
  explicit NewestStream(std::shared_ptr<Responder> responder) : responder_(std::move(responder)) {}

  /// Called once, on the queue's thread, when the call is over for whatever reason.
  virtual void ended() = 0;

private:
  /// What the lock's holder must do after letting go of it.
  enum class Next { kNothing, kWrite, kFinish };

  void written(bool sent) final;
  void hungUp() final;
  void over() final { ended(); }

  Next decideLocked();
  void act(Next next);

  mutable std::mutex mutex_;
  std::shared_ptr<const Held> waiting_;
  std::shared_ptr<const Held> said_;
  bool writing_ = false;
  bool ending_ = false;
  bool finished_ = false;
  grpc::Status last_;
  const std::shared_ptr<Responder> responder_;
};

template <typename Held>
void NewestStream<Held>::show(std::shared_ptr<const Held> newest) {
  std::unique_lock lock(mutex_);
  waiting_ = std::move(newest);
  const Next next = decideLocked();
  lock.unlock();
  act(next);
}

template <typename Held>
void NewestStream<Held>::end(grpc::Status status) {
  std::unique_lock lock(mutex_);
  if (ending_) return;
  ending_ = true;
  last_ = std::move(status);
  const Next next = decideLocked();
  lock.unlock();
  act(next);
}

template <typename Held>
std::shared_ptr<const Held> NewestStream<Held>::said() const {
  const std::lock_guard lock(mutex_);
  return said_;
}

template <typename Held>
typename NewestStream<Held>::Next NewestStream<Held>::decideLocked() {
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

template <typename Held>
void NewestStream<Held>::act(Next next) {
  // said_ and last_ stay as they are from here on: no second write begins and nothing finishes
  // before written(), and nothing follows kFinish.
  if (next == Next::kWrite) responder_->write(said_->message);
  if (next == Next::kFinish) responder_->finish(last_);
}

template <typename Held>
void NewestStream<Held>::written(bool sent) {
  std::unique_lock lock(mutex_);
  writing_ = false;
  if (!sent) ending_ = true;
  const Next next = decideLocked();
  lock.unlock();
  act(next);
}

template <typename Held>
void NewestStream<Held>::hungUp() {
  end(grpc::Status(grpc::StatusCode::CANCELLED, "the kubelet ended the stream"));
}

}  // namespace vfiogate
