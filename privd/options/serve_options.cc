#include "privd/options/serve_options.h"

#include "ipc/base/hex.h"
#include "privd/options/gate_options.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace vfiogate {
namespace {

Option hardwareUidOption(uid_t& uid) {
  const auto take = [&uid](const std::string& text) -> std::string {
    const auto number = parseDecimal(text);
    if (!number) return "'" + text + "' is no uid in decimal digits";
    if (*number == 0) return "privd-hardware must not run as root: give plugind's --hardware-uid";
    uid = *number;
    return {};
  };
  return {"--hardware-uid", "the user that privd-hardware runs as", "UINT", std::to_string(uid),
          take};
}

}  // namespace

OptionTable serveOptions(ServeOptions& options) {
  OptionTable table{
      textOption("--plugind", options.plugind,
                 "the socket on which plugind listens; without it, and without --plugind-rights, "
                 "devices are bound for operators alone"),
      plugindUidOption(options.plugindUid),
      rightsOption(options.plugindRights),
      hardwareUidOption(options.hardwareUid),
      sysfsOption(options.sysfs),
      devOption(options.dev),
      textOption("--kubelet-dir", options.kubeletDir, "the kubelet's directory"),
      textOption("--cdi-dir", options.cdiDir,
                 "where container runtimes look for CDI specs; made where plugind may have them"),
      stateOption(options.stateDir),
      recordOption(options.recordDir),
      resourcePrefixOption(options.resourcePrefixes),
      draDriverOption(options.draDriver),
      textOption("--plugind-config", options.plugindConfig,
                 "plugind's configuration: watched, and handed to plugind when it changes", "FILE"),
      ueventsOption(options.uevents),
      rescanOption(options.rescanSeconds),
      logFormatOption(options.logForm),
      auditOption(options.binding),
  };
  std::ranges::move(guardOptions(options.binding), std::back_inserter(table));
  table.push_back(overrideOption(options.binding.overrides));
  table.push_back(declareOption(options.declared));
  table.push_back(landlockOption(options.requireLandlock));
  return table;
}

}  // namespace vfiogate
