#pragma once
// What the command line asks plugind to do.

#include "ipc/base/build_info.h"
#include "ipc/base/log_format.h"
#include "ipc/base/result.h"
#include "ipc/types/unit_id.h"
#include "plugind/cli/partitions.h"
#include "seccomp/drop_privileges.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace vfiogate {

struct CommandLine {
  enum class Act : std::uint8_t {
    kServe,
    kCheckConfig,
    kPrintPolicy,
    kSelfTest,
    kStatus,
    kExplain,
    kProbe,
    kFragment,
    kPartitions
  };
  Act act = Act::kServe;
  BuildInfo build;
  std::string listen = "/run/vfiogate/plugind/plugind.sock";
  std::string pciIds = "/usr/share/misc/pci.ids";
  std::string configFile;  ///< empty: no file, every key at its default
  Identity user{64532, 64532};
  LogForm logForm = LogForm::kLogfmt;
  std::uint32_t netdUid = 64533;      ///< whose visits are taken for netd's
  std::uint32_t hardwareUid = 64531;  ///< whose connection may be privd-hardware's
  std::string policyForm = "text";
  std::string form = "table";              ///< of status and explain
  std::chrono::milliseconds timeout{100};  ///< for an answer to them, or to probe
  std::chrono::milliseconds wait{0};       ///< until it is ready, and the probe looks again
  std::optional<UnitId> address;           ///< to explain, always there then; or to probe
  std::string partitionTable;              ///< the file; "-": standard input
  PartitionOptions partitions{.modules = {}, .resource = *ResourceName::parse("vfiogate.dev/gpus")};
  std::string fragment;  ///< for whom one is printed: "kubevirt" or "kata"
};

/// What is left to do is to leave: help was asked for, or something cannot be understood.
struct EarlyEnd {
  int exitCode;  ///< 0, or 2 for usage
  std::string text;
};

/// Reads the arguments of the program that was built so. Nothing is opened and nothing printed.
Result<CommandLine, EarlyEnd> readCommandLine(int argc, const char* const* argv,
                                              const BuildInfo& build);

}  // namespace vfiogate
