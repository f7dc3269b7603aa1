#pragma once
// Gives commands to a running simulated node.

#include <sys/un.h>

#include <optional>
#include <string>

#include "ipc/types/result.h"

namespace vfiogate::sim {

/// Null if the path is too long for a socket.
std::optional<sockaddr_un> controlAddress(const std::string& path);

/// Sends `command` and returns the whole answer. Fails with the reason if nobody answers.
Result<std::string, std::string> askControl(const std::string& socketPath,
                                            const std::string& command);

}  // namespace vfiogate::sim
