#pragma once
// What the command line asks netd to do.

#include "ipc/types/result.h"
#include "netd/listen_address.h"
#include "seccomp/drop_privileges.h"

#include <cstdint>
#include <optional>
#include <string>

namespace vfiogate {

struct NetdLine {
  enum class Act : std::uint8_t { kMetrics, kPrintPolicy };
  Act act = Act::kMetrics;
  std::string plugind = "/run/vfiogate/plugind/plugind.sock";
  std::optional<ListenAddress> listen;  ///< always there for kMetrics
  Identity user{64533, 64533};
  std::string policyForm = "text";
};

/// What is left to do is to leave: help was asked for, or something cannot be understood.
struct NetdLeaves {
  int exitCode;  ///< 0, or 2 for usage
  std::string text;
};

/// Reads the arguments. Nothing is opened and nothing printed.
Result<NetdLine, NetdLeaves> readNetdLine(int argc, const char* const* argv);

}  // namespace vfiogate
