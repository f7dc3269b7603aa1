#pragma once
// What privd-gate was told.

#include "privd/options/shared_options.h"

#include <sys/types.h>

#include <string>
#include <vector>

namespace vfiogate {

struct GateOptions {
  std::string plugind = kPlugindSocket;
  uid_t plugindUid = kPlugindUid;
  std::string plugindRights = "watch,kubelet";
  std::string kubeletDir = "/var/lib/kubelet";
  std::string cdiDir = "/var/run/cdi";
  std::string plugindConfig;  ///< empty: none
  std::string stateDir = "/var/lib/vfiogate";
  std::string recordDir;  ///< empty: see recordDirectory()
  std::vector<std::string> resourcePrefixes = {"vfiogate.dev/"};
  std::string draDriver;  ///< empty: none
  LogForm logForm = LogForm::kLogfmt;
  bool requireLandlock = false;
  int readyFd = -1;  ///< -1: nobody waits for it
};

/// The gate's options, which fill `options`.
OptionTable gateOptions(GateOptions& options);

/// The DRA driver's name.
Option draDriverOption(std::string& driver);
/// Repeatable; the first one given takes the place of the default.
Option resourcePrefixOption(std::vector<std::string>& prefixes);

}  // namespace vfiogate
