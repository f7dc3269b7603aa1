#include "privd/options/program_options.h"

#include "ipc/base/hex.h"
#include "ipc/base/kube_names.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace vfiogate {
namespace {

/// The DRA driver's name.
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

/// Repeatable; the first one given takes the place of the default.
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

OptionTable scanOptions(ScanOptions& options) {
  return {
      sysfsOption(options.sysfs),
      devOption(options.dev),
      ueventsOption(options.uevents),
      rescanOption(options.rescanSeconds),
  };
}

OptionTable joined(OptionTable table, OptionTable more) {
  std::ranges::move(more, std::back_inserter(table));
  return table;
}

}  // namespace

OptionTable hardwareOptions(HardwareOptions& options) {
  return joined(scanOptions(options),
                {
                    textOption("--plugind", options.plugind, "the socket on which plugind listens"),
                    plugindUidOption(options.plugindUid),
                    logFormatOption(options.logForm),
                    landlockOption(options.requireLandlock),
                });
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
  };
}

OptionTable iommufdOptions(IommufdOptions& options) {
  const auto isAbsolute = [](const std::string& text) -> std::string {
    const std::size_t slash = text.rfind('/');
    if (text.starts_with('/') && slash != 0 && slash + 1 < text.size()) return {};
    return "'" + text + "' is no absolute path of a file in a directory of its own";
  };
  return {
      checked(textOption("--socket", options.socket,
                         "where KubeVirt's launchers connect; its directory is root's alone"),
              isAbsolute),
      devOption(options.dev),
      logFormatOption(options.logForm),
      landlockOption(options.requireLandlock),
  };
}

OptionTable binderOptions(BinderOptions& options) {
  OptionTable own{
      textOption("--plugind", options.plugind,
                 std::string("the socket on which plugind listens [none; where it may bind, ") +
                     kPlugindSocket + "]"),
      plugindUidOption(options.plugindUid),
      rightsOption(options.plugindRights),
      stateOption(options.stateDir),
      recordOption(options.recordDir),
      logFormatOption(options.logForm),
      auditOption(options.binding),
      overrideOption(options.binding.overrides),
      declareOption(options.declared),
      vfsOption(options.vfs),
      landlockOption(options.requireLandlock),
  };
  return joined(joined(std::move(own), scanOptions(options)), guardOptions(options.binding));
}

OptionTable serveOptions(ServeOptions& options) {
  OptionTable gate = gateOptions(options);
  gate.front().help +=
      "; without it, and without --plugind-rights, devices are bound for operators alone";
  return joined(joined(std::move(gate), scanOptions(options)),
                joined({hardwareUidOption(options.hardwareUid), auditOption(options.binding),
                        overrideOption(options.binding.overrides), declareOption(options.declared),
                        vfsOption(options.vfs)},
                       guardOptions(options.binding)));
}

}  // namespace vfiogate
