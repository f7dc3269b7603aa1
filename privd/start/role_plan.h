#pragma once
// Which of privd's processes the daemon starts, and what it tells each: decided by what it was
// told.

#include "ipc/gate/opening.h"
#include "privd/options/option_table.h"

#include <string>
#include <string_view>
#include <vector>

namespace vfiogate {

/// One option as it was given, on the command line or in a file.
struct GivenOption {
  std::string name;   ///< "--sysfs"
  std::string value;  ///< of a flag "true" or "false"
  friend bool operator==(const GivenOption&, const GivenOption&) = default;
};

/// `table`, whose options are noted in `given`, too, as each is taken. Borrows `given`.
OptionTable noting(OptionTable table, std::vector<GivenOption>& given);

struct RolePlan {
  PrivdRole role;
  std::vector<std::string> arguments;  ///< those that this role has, "--name=value"
  friend bool operator==(const RolePlan&, const RolePlan&) = default;
};

enum class OnFile : bool { kNothing, kDeclared };

/// In the order of their start. There is a plugind where its socket or its rights are given:
/// hardware and gate serve it. The binder is there without one, where it has the right to bind,
/// to probe or to serial numbers, and where something is declared.
std::vector<RolePlan> rolesToStart(const std::vector<GivenOption>& given, OnFile onFile);

/// Whether a device is declared in `stateDir`, or something there cannot be read.
OnFile declaredIn(const std::string& stateDir);

/// "privd-gate".
std::string programOf(PrivdRole role);

}  // namespace vfiogate
