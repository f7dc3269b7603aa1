#pragma once
// The socket on which a simulated node takes commands: one line in, lines out, closed.

#include <kj/io.h>

#include <list>
#include <string>
#include <vector>

#include "ipc/base/result.h"
#include "sim/sysfs/control/control_commands.h"

namespace vfiogate::sim {

class ControlServer {
public:
  /// Listens at `path`, replacing what a dead server left there. Mode 0600. Fails with the reason.
  static Result<ControlServer, std::string> listen(const std::string& path);

  /// Descriptors to poll for reading; then call serve().
  std::vector<int> fds() const;

  /// Takes connections and commands as far as they have come.
  void serve(SimKernel& kernel, Switches& switches);

  /// Answers the callers that wait for this task.
  void answer(const Ended& ended);

  /// After all that an operation set off: a command whose task still waits is answered with that,
  /// and so is who awaits `waiting` or fewer operations that hang.
  void settle(std::size_t waiting);

private:
  struct Connection {
    kj::AutoCloseFd socket;
    std::string line;
    bool understood = false;  ///< the line is complete and `reply` what became of it
    bool answered = false;
    Reply reply;
  };

  explicit ControlServer(kj::AutoCloseFd listener) : listener_(kj::mv(listener)) {}

  void accept();
  static void send(Connection& connection, const std::string& text);

  kj::AutoCloseFd listener_;
  std::list<Connection> connections_;
};

}  // namespace vfiogate::sim
