#pragma once
// A client's connection that can neither be kept busy for ever nor made to hold much.

#include <kj/async-io.h>
#include <kj/debug.h>
#include <kj/timer.h>

#include <algorithm>

namespace vfiogate {

/// Passes everything on, but fails, and with it the connection, when the client does not take what
/// is written within `patience`, or sends more than `mostHead` bytes before headDone(). (kj-http
/// alone would store 128 KiB.) How long a client may take to send is kj-http's business.
class ClientStream final : public kj::AsyncIoStream {
public:
  struct Limits {
    kj::Duration patience;
    size_t mostHead;  ///< bytes
  };

  /// Borrows `timer`.
  ClientStream(kj::Own<kj::AsyncIoStream> inner, kj::Timer& timer, const Limits& limits)
      : inner_(kj::mv(inner)), timer_(timer), limits_(limits) {}

  /// The head of a request was read; what follows is another's. What of that was read already, as
  /// much as a buffer of kj-http holds, does not count.
  void headDone() { read_ = 0; }

  kj::Promise<size_t> tryRead(void* buffer, size_t minBytes, size_t maxBytes) override {
    KJ_REQUIRE(read_ < limits_.mostHead, "the head of a request is too large");
    const size_t most = std::max(minBytes, std::min(maxBytes, limits_.mostHead - read_));
    return inner_->tryRead(buffer, minBytes, most).then([this](size_t size) {
      read_ += size;
      return size;
    });
  }
  kj::Promise<void> write(const void* buffer, size_t size) override {
    return timer_.timeoutAfter(limits_.patience, inner_->write(buffer, size));
  }
  kj::Promise<void> write(kj::ArrayPtr<const kj::ArrayPtr<const kj::byte>> pieces) override {
    return timer_.timeoutAfter(limits_.patience, inner_->write(pieces));
  }
  kj::Promise<void> whenWriteDisconnected() override { return inner_->whenWriteDisconnected(); }
  void shutdownWrite() override { inner_->shutdownWrite(); }
  void abortRead() override { inner_->abortRead(); }

private:
  kj::Own<kj::AsyncIoStream> inner_;
  kj::Timer& timer_;
  const Limits limits_;
  size_t read_ = 0;
};

}  // namespace vfiogate
