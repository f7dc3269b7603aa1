#pragma once
// The connection to plugind: each role dials it, again whenever either comes back.

#include "ipc/gate/opening.h"
#include "privd/base/name_watch.h"

#include <kj/async.h>
#include <kj/function.h>
#include <kj/io.h>
#include <kj/timer.h>

#include <sys/types.h>

#include <string>

namespace vfiogate {

/// Dials the socket on which plugind listens, for as long as it lives: 5 ms after the socket
/// appears, and otherwise after 50 ms, doubling up to 2 s. Whose uid is not plugind's by the
/// kernel's word is hung up on. Says its role first.
class PlugindLink {
public:
  struct Deps {
    kj::Timer& timer;
    NameWatch& socketMade;  ///< for the last part of `path`; made before the filter forbids it
    PrivdRole role;
    std::string path;
    uid_t plugindUid;  ///< never 0
    /// Serves plugind: on the connection, or at our end of the channel that the role has instead.
    /// Resolves when that is over, with the reason for the log; empty: plugind just left.
    kj::Function<kj::Promise<std::string>(kj::AutoCloseFd)> serve;
  };

  explicit PlugindLink(Deps deps);
  KJ_DISALLOW_COPY(PlugindLink);

private:
  kj::Promise<void> dial();
  kj::Promise<void> serve(kj::AutoCloseFd connection);
  kj::Promise<void> pauseAndDial();

  Deps deps_;
  kj::Duration pause_;
  bool absenceTold_ = false;
  kj::Promise<void> task_;  // last: it uses all of the above
};

}  // namespace vfiogate
