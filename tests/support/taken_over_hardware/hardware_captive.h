#pragma once
// The hardware process's place with somebody else's code in it: its user, its Landlock places, its
// filter.

#include "ipc/gate/opening.h"

#include <kj/async-io.h>
#include <kj/io.h>

#include <string>

namespace vfiogate::test {

class HardwareCaptive {
public:
  /// Becomes the hardware process's user and locks itself down as it does, for good; `plugind` is
  /// the socket on which that listens. Ends the process with 2 where that fails.
  HardwareCaptive(std::string plugind, const std::string& sysfs);

  /// A new connection to plugind that has said that it is the hardware process's. Dialled again
  /// where plugind hung up before that was said, as it does while it still has the one before.
  kj::AutoCloseFd dial();
  /// One that has said nothing.
  kj::AutoCloseFd dialSilently();
  /// One on which it says that it is another of privd's processes: our end of the channel.
  kj::AutoCloseFd dialAs(PrivdRole role);

  void pause(kj::Duration length);
  /// Whether the other end hangs up within `patience`: "hung up" or "served on". Takes what comes.
  std::string howItEnds(int fd, kj::Duration patience = 12 * kj::SECONDS);

  kj::AsyncIoContext io;

private:
  const std::string plugind_;
};

}  // namespace vfiogate::test
