#pragma once
// A stream to the kubelet whose messages each replace the one before.

#include <grpcpp/support/server_callback.h>

#include <memory>
#include <mutex>
#include <utility>

namespace vfiogate {

/// The newest message wins, one write in flight: a kubelet that does not read costs two messages of
/// memory, however many are shown. `Held` has the one that goes over the wire as its `message`.
/// Lives until gRPC is done with the call, and then as long as it is held.
template <typename Held>
class NewestStream : public grpc::ServerWriteReactor<decltype(Held::message)> {
public:
  /// Any thread: says this next, in place of one that still waits.
  void show(std::shared_ptr<const Held> newest);

  /// Any thread: ends the call from our side, after the write in flight.
  void end(grpc::Status status);

  /// The last one whose sending began: what the kubelet may know. Null before the first.
  std::shared_ptr<const Held> said() const;

protected:
  /// Keeps `stream` alive until gRPC is done with it.
  template <typename Stream>
  static std::shared_ptr<Stream> keep(std::shared_ptr<Stream> stream) {
    stream->self_ = stream;
    return stream;
  }

  /// Called once, on a thread of gRPC, when the call is over for whatever reason.
  virtual void ended() = 0;

private:
  /// What the lock's holder must do after letting go of it: gRPC may call back from within.
  enum class Next { kNothing, kWrite, kFinish };

  void OnWriteDone(bool written) final;
  void OnCancel() final;
  void OnDone() final;

  Next decideLocked();
  void act(Next next);

  mutable std::mutex mutex_;
  std::shared_ptr<const Held> waiting_;
  std::shared_ptr<const Held> said_;
  bool writing_ = false;
  bool ending_ = false;
  bool finished_ = false;
  grpc::Status last_;
  std::shared_ptr<NewestStream> self_;  ///< until gRPC is done
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
  // before OnWriteDone, and nothing follows kFinish.
  if (next == Next::kWrite) this->StartWrite(&said_->message);
  if (next == Next::kFinish) this->Finish(last_);
}

template <typename Held>
void NewestStream<Held>::OnWriteDone(bool written) {
  std::unique_lock lock(mutex_);
  writing_ = false;
  if (!written) ending_ = true;
  const Next next = decideLocked();
  lock.unlock();
  act(next);
}

template <typename Held>
void NewestStream<Held>::OnCancel() {
  end(grpc::Status(grpc::StatusCode::CANCELLED, "the kubelet ended the stream"));
}

template <typename Held>
void NewestStream<Held>::OnDone() {
  const std::shared_ptr<NewestStream> self = std::move(self_);
  ended();
}

}  // namespace vfiogate
