#pragma once
// What the daemon was told.

#include "ipc/base/build_info.h"
#include "ipc/base/log_format.h"
#include "privd/options/binding_options.h"

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace vfiogate {

struct ServeOptions {
  BuildInfo build;  ///< no option: of this program, for the log
  uid_t hardwareUid = 64531;
  std::string plugind = "/run/vfiogate/plugind/plugind.sock";
  uid_t plugindUid = 64532;
  std::string plugindRights = "watch,kubelet";
  std::string sysfs = "/sys";
  std::string dev = "/dev";
  std::string kubeletDir = "/var/lib/kubelet";
  std::string cdiDir = "/var/run/cdi";
  std::string plugindConfig;  ///< empty: none
  std::string stateDir = "/var/lib/vfiogate";
  std::string recordDir;  ///< empty: see recordDirectory()
  std::vector<std::string> resourcePrefixes = {"vfiogate.dev/"};
  std::string draDriver;  ///< empty: none
  std::string uevents = "on";
  LogForm logForm = LogForm::kLogfmt;
  std::uint32_t rescanSeconds = 10;
  BindingOptions binding;
  std::vector<Selector> declared;
  bool requireLandlock = false;
};

/// The daemon's options, which fill `options`.
OptionTable serveOptions(ServeOptions& options);

}  // namespace vfiogate
