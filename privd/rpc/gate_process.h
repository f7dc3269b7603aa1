#pragma once
// The process that holds the kubelet's sockets, as the daemon that starts it sees it.

#include "ipc/base/result.h"

#include <kj/async-io.h>
#include <kj/async-unix.h>
#include <kj/io.h>

#include <string>
#include <vector>

namespace vfiogate {

/// A privd-gate, from the program that lies beside this one. It ends with this process, however
/// that ends.
class GateProcess {
public:
  /// Starts it with these arguments, and waits until it is locked down. To be called with power
  /// dropped and one thread. Error: in words, for people.
  static Result<GateProcess, std::string> start(const std::vector<std::string>& arguments);

  /// From now on it serves the peer at the other end of `channel`, and nobody else. False: it is
  /// gone.
  bool serve(kj::AutoCloseFd channel) const;

  /// Asks it to end.
  void end() const;
  /// Resolves when it has ended.
  kj::Promise<void> ended(kj::UnixEventPort& port) const;

private:
  explicit GateProcess(kj::AutoCloseFd control) : control_(kj::mv(control)) {}
  static kj::Promise<void> untilEnd(kj::UnixEventPort::FdObserver& observer, int control);

  kj::AutoCloseFd control_;
};

}  // namespace vfiogate
