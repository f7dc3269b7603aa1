#pragma once
// A peer that writes the messages of Cap'n Proto's RPC itself, and so may write wrong ones.

#include <capnp/message.h>
#include <capnp/rpc.capnp.h>
#include <kj/function.h>
#include <kj/io.h>

#include <chrono>
#include <cstdint>

namespace vfiogate {

/// One connection's peer end. What the server does not take within the patience is not sent. Asks
/// nothing of the kernel that plugind's filter forbids.
class RawPeer {
public:
  /// The questions that enter() leaves open, to call on their answers.
  static constexpr std::uint32_t kHandshake = 0;
  static constexpr std::uint32_t kSession = 1;
  static constexpr std::uint32_t kWatching = 2;
  static constexpr std::uint32_t kFirstFree = 3;

  explicit RawPeer(kj::AutoCloseFd fd, std::chrono::milliseconds patience = {})
      : fd_(kj::mv(fd)), patience_(patience) {}

  /// Asks for the handshake, enters and watches, as an honest peer does.
  void enter();

  void bootstrap(std::uint32_t question);
  /// enter() on the handshake: mints a session, or gives the one that it has.
  void callEnter(std::uint32_t question);
  /// watch() on the session, with an observer exported as `observer`.
  void callWatch(std::uint32_t question, std::uint32_t observer);
  /// discovery() on the session: an RpcServer never returns it.
  void callDiscovery(std::uint32_t question);
  /// reread() at the group of the first update: a large answer.
  void callReread(std::uint32_t question);
  /// The same on what the server calls `object`.
  void callRereadOn(std::uint32_t question, std::uint32_t object);
  void finish(std::uint32_t question, bool releaseResults);

  /// Sends what `fill` makes of an empty message.
  void send(kj::FunctionParam<void(capnp::rpc::Message::Builder)> fill);
  void sendBytes(kj::ArrayPtr<const kj::byte> bytes);

  /// The connection itself.
  int fd() const { return fd_.get(); }

  /// Reads and forgets all that has come; returns how many bytes that were.
  std::size_t drain();

  /// Whether the server takes nothing: it hung up, or its buffer is full.
  bool refused() const { return refused_; }

private:
  using Call = capnp::rpc::Call::Builder;

  void call(std::uint32_t question, kj::FunctionParam<void(Call)> fill);

  kj::AutoCloseFd fd_;
  std::chrono::milliseconds patience_;
  bool refused_ = false;
};

}  // namespace vfiogate
