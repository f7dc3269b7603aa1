#pragma once
// Stays connected to plugind, which asks over that connection.

#include "ipc/schema/dra.capnp.h"

#include <kj/async-io.h>
#include <kj/function.h>
#include <kj/timer.h>

#include <string>

namespace vfiogate {

/// plugind may restart at any time: it is dialled again, after 50 ms and up to 2 s, with jitter, an
/// attachment that did not stand for 10 s counting as a failure;
/// every 2 s where it is no DRA driver. All that plugind asked for ends with the connection. What
/// it sends is bounded before it is stored.
class PlugindAttachment {
public:
  struct Deps {
    kj::LowLevelAsyncIoProvider& streams;
    kj::Timer& timer;
    kj::Function<double()> draw;  ///< in [0, 1)
    /// What is served on a new connection.
    kj::Function<schema::ApiServer::Client()> apiServer;
    std::string socket;
    std::string node;  ///< the Node's name
  };
  explicit PlugindAttachment(Deps deps) : deps_(kj::mv(deps)) {}

  /// Never resolves, and does not fail because of plugind.
  kj::Promise<void> run();

private:
  kj::Promise<void> attachOnce();
  /// `why` is told once.
  void away(const std::string& why);
  kj::Duration pause();

  Deps deps_;
  std::string toldAway_;
  bool toldOff_ = false;
  unsigned failures_ = 0;  ///< since an attachment stood
};

}  // namespace vfiogate
