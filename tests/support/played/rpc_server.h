#pragma once
// A server of the privilege line for tests of its bounds: real RPC, answers made up.

#include "ipc/codec/metered_stream.h"
#include "ipc/schema/helper.capnp.h"

#include <capnp/rpc-twoparty.h>
#include <kj/async-io.h>
#include <kj/io.h>

#include <optional>

namespace vfiogate {

enum class Metering : std::uint8_t { kOn, kOff };

/// Serves every connection as privd does: limits of ipc/codec/limits.h, hang-up at the first
/// offence. What its objects do suits an attacker: enter() mints anew at each call, reread()
/// answers with kRereadBytes, discovery() never returns.
class RpcServer : private kj::TaskSet::ErrorHandler {
public:
  static constexpr std::size_t kRereadBytes = 32'768;

  explicit RpcServer(kj::AsyncIoContext& io);

  /// Serves a new connection; returns the peer's end, non-blocking.
  kj::AutoCloseFd connect(Metering metering);
  /// Serves a connection whose stream the caller made.
  void serve(kj::Own<kj::AsyncIoStream> stream, Metering metering);

  /// Why the last peer that was hung up on was; null: none was.
  std::optional<Offence> offence() const { return offence_; }
  /// Connections that are over.
  int ended() const { return ended_; }

private:
  struct Connection;

  void taskFailed(kj::Exception&& exception) override;

  kj::AsyncIoContext& io_;
  std::optional<Offence> offence_;
  int ended_ = 0;
  kj::TaskSet connections_;  // last: it uses all of the above
};

}  // namespace vfiogate
