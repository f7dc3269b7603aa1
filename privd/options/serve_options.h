#pragma once
// What `privd serve` was told.

#include "ipc/base/build_info.h"
#include "privd/options/binding_options.h"

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace vfiogate {

struct ServeOptions {
  BuildInfo build;  ///< no option: of this program, for the log
  std::string socket = "/run/vfiogate/privd/privd.sock";
  std::string plugind = "/run/vfiogate/plugind/plugind.sock";
  uid_t plugindUid = 64532;
  std::string plugindRights = "watch,kubelet";
  std::string sysfs = "/sys";
  std::string dev = "/dev";
  std::string kubeletDir = "/var/lib/kubelet";
  std::string cdiDir = "/var/run/cdi";
  std::string plugindConfig;  ///< empty: none
  std::string stateDir = "/var/lib/vfiogate";
  std::vector<std::string> resourcePrefixes = {"vfiogate.dev/"};
  std::string draDriver;  ///< empty: none
  std::string uevents = "on";
  std::uint32_t rescanSeconds = 10;
  BindingOptions binding;
  std::vector<Selector> declared;
  bool requireLandlock = false;
};

/// Describes the options of `privd serve` to the parser, which fills `options`.
void addServeOptions(CLI::App& serve, ServeOptions& options);

/// Replaces `--options FILE` in `arguments` by the options in the file: one long option a line
/// without the dashes, `name`, `name value` or `name=value`, `#` begins a comment line; those whose
/// name (with its dashes) is not `wanted` are passed over. Throws CLI::FileError naming the file,
/// and the line where there is one.
std::vector<std::string> expandOptionFiles(const std::vector<std::string>& arguments,
                                           const std::function<bool(const std::string&)>& wanted);

}  // namespace vfiogate
