#pragma once
// plugind's place with somebody else's code in it: plugind's user, plugind's filter, the listener
// that privd dials.

#include "ipc/gate/opening.h"

#include <kj/async-io.h>
#include <kj/io.h>

#include <cstdint>
#include <map>
#include <string>

namespace vfiogate::test {

class Captive {
public:
  /// Becomes plugind's user, listens at `socket` and loads plugind's filter, for good. Ends the
  /// process with 2 where that fails.
  explicit Captive(const std::string& socket);

  /// The next one of the role's: the connection of the hardware process, or our end of a channel.
  /// What others dial meanwhile is kept for them.
  kj::AutoCloseFd next(PrivdRole role);
  /// Whoever dials next, and is hung up on at once.
  PrivdRole hangUpOnNext() { return accept().role; }
  void pause(kj::Duration length);
  /// Returns as soon as there is something to read, or the other end is closed.
  void awaitReadable(int fd);

  kj::AsyncIoContext io;
  std::uint64_t lease = 0;  ///< the node's, to be shown again; 0: none yet
  kj::AutoCloseFd lock;     ///< what the lease is

private:
  explicit Captive(kj::AutoCloseFd listener);

  /// The next that dials, whoever it is.
  Opening accept();

  kj::AutoCloseFd listener_;
  std::map<PrivdRole, kj::AutoCloseFd> kept_;
};

/// How often each outcome was: "badName 3, socket 1".
class Tally {
public:
  void add(const std::string& outcome) { ++counts_[outcome]; }
  std::string str() const;

private:
  std::map<std::string, unsigned> counts_;
};

}  // namespace vfiogate::test
