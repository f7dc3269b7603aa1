#pragma once
// What the hardware process was told.

#include "ipc/base/build_info.h"
#include "ipc/base/log_format.h"
#include "privd/options/shared_options.h"

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace vfiogate {

struct HardwareOptions {
  BuildInfo build;  ///< no option: of this program, for the log
  std::string plugind = kPlugindSocket;
  uid_t plugindUid = kPlugindUid;
  std::string sysfs = "/sys";
  std::string dev = "/dev";
  std::string uevents = "on";
  std::uint32_t rescanSeconds = 10;
  LogForm logForm = LogForm::kLogfmt;
  bool requireLandlock = false;
  int readyFd = -1;  ///< -1: nobody started it who wants to know
};

/// They fill `options`.
OptionTable hardwareOptions(HardwareOptions& options);

}  // namespace vfiogate
