#include "privd/options/gate_options.h"

#include "ipc/base/kube_names.h"
#include "privd/options/binding_options.h"

#include <utility>

namespace vfiogate {

Option draDriverOption(std::string& driver) {
  const auto check = [](const std::string& text) -> std::string {
    if (isDraDriver(text)) return {};
    return "'" + text +
           "' is no DRA driver's name: give a lower-case DNS name that begins with a letter and "
           "has at most 63 characters, such as vfio.vfiogate.dev";
  };
  return checked(
      textOption("--dra-driver", driver,
                 "the DRA driver that plugind may be: its sockets and claims' CDI specs", "NAME"),
      check);
}

Option resourcePrefixOption(std::vector<std::string>& prefixes) {
  const auto take = [&prefixes, given = false](const std::string& text) mutable -> std::string {
    if (text.find('/') == std::string::npos) {
      return "'" + text +
             "' has no '/': give what resource names begin with, such as vfiogate.dev/";
    }
    if (!std::exchange(given, true)) prefixes.clear();
    prefixes.push_back(text);
    return {};
  };
  return {"--resource-prefix",
          "what the resources that plugind may serve begin with; repeatable",
          "TEXT",
          "[" + prefixes.front() + "]",
          take,
          true};
}

OptionTable gateOptions(GateOptions& options) {
  return {
      textOption("--plugind", options.plugind, "the socket on which plugind listens"),
      plugindUidOption(options.plugindUid),
      rightsOption(options.plugindRights),
      textOption("--kubelet-dir", options.kubeletDir, "the kubelet's directory"),
      textOption("--cdi-dir", options.cdiDir,
                 "where container runtimes look for CDI specs; made where plugind may have them"),
      stateOption(options.stateDir),
      recordOption(options.recordDir),
      resourcePrefixOption(options.resourcePrefixes),
      draDriverOption(options.draDriver),
      textOption("--plugind-config", options.plugindConfig,
                 "plugind's configuration: watched, and handed to plugind when it changes", "FILE"),
      logFormatOption(options.logForm),
      landlockOption(options.requireLandlock),
      readyOption(options.readyFd),
  };
}

}  // namespace vfiogate
