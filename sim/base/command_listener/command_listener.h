#pragma once
// The socket on which a running program takes commands: one line in, lines out, closed.

#include "ipc/base/result.h"

#include <kj/io.h>

#include <functional>
#include <string>

namespace vfiogate::sim {

class CommandListener {
public:
  /// Listens at `path`, mode 0600. Fails with the reason.
  static Result<CommandListener, std::string> open(const std::string& path);

  /// Takes one command after the other until `stopFd` (borrowed) is readable.
  void serve(int stopFd, const std::function<std::string(const std::string&)>& answer) const;

private:
  explicit CommandListener(kj::AutoCloseFd listener) : listener_(kj::mv(listener)) {}

  kj::AutoCloseFd listener_;
};

}  // namespace vfiogate::sim
