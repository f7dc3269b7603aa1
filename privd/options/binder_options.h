#pragma once
// What the binder was told.

#include "ipc/base/build_info.h"
#include "privd/options/binding_options.h"
#include "privd/options/shared_options.h"

#include <cstdint>
#include <string>
#include <vector>

namespace vfiogate {

struct BinderOptions {
  BuildInfo build;      ///< no option: of this program, for the log
  std::string plugind;  ///< empty: see plugindSocket()
  uid_t plugindUid = kPlugindUid;
  std::string plugindRights;
  std::string sysfs = "/sys";
  std::string dev = "/dev";
  std::string stateDir = "/var/lib/vfiogate";
  std::string recordDir;  ///< empty: see recordDirectory()
  std::string uevents = "on";
  std::uint32_t rescanSeconds = 10;
  LogForm logForm = LogForm::kLogfmt;
  BindingOptions binding;
  std::vector<Selector> declared;
  bool requireLandlock = false;
  int readyFd = -1;  ///< -1: nobody started it who wants to know

  /// It binds for allocations.
  bool allocates() const { return hasRight(plugindRights, "bind"); }
  /// Empty: no plugind is dialled. Whoever has the right to bind without a socket of its own is at
  /// the usual one.
  std::string plugindSocket() const {
    return plugind.empty() && allocates() ? kPlugindSocket : plugind;
  }
};

/// They fill `options`.
OptionTable binderOptions(BinderOptions& options);

}  // namespace vfiogate
