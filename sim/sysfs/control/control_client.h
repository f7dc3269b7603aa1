#pragma once
// Gives commands to a running simulated node.

#include <sys/un.h>

#include <optional>
#include <string>

#include "ipc/base/result.h"

namespace vfiogate::sim {

/// Null if the path is too long for a socket.
std::optional<sockaddr_un> controlAddress(const std::string& path);

/// One question to a simulated node. Its answer may be long in coming.
class ControlRequest {
public:
  /// Sends `command`; answer() tells if that failed.
  ControlRequest(const std::string& socketPath, const std::string& command);
  ~ControlRequest();
  ControlRequest(const ControlRequest&) = delete;
  ControlRequest& operator=(const ControlRequest&) = delete;

  /// Readable when the answer is there.
  int fd() const { return fd_; }

  /// Waits for the whole answer. Error: why there was none.
  Result<std::string, std::string> answer() const;

private:
  int fd_;  // not kj's: this also goes into programs linked without it
  std::string problem_;
};

/// Sends `command` and returns the whole answer. Error: why there was none.
Result<std::string, std::string> askControl(const std::string& socketPath,
                                            const std::string& command);

}  // namespace vfiogate::sim
