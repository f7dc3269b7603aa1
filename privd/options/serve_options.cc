#include "privd/options/serve_options.h"

#include "ipc/base/hex.h"
#include "ipc/base/kube_names.h"

#include <algorithm>
#include <sstream>
#include <utility>

namespace vfiogate {
namespace {

constexpr std::uint32_t kLongestRescan = 86400;

/// `option`, which takes what `check` finds nothing wrong with.
template <typename Check>
Option checked(Option option, Check check) {
  option.take = [check, take = std::move(option.take)](const std::string& text) {
    const std::string problem = check(text);
    return problem.empty() ? take(text) : problem;
  };
  return option;
}

std::string checkRights(const std::string& text) {
  std::istringstream rights(text);
  for (std::string right; std::getline(rights, right, ',');) {
    if (right != "watch" && right != "kubelet" && right != "cdi" && right != "bind") {
      return "unknown right '" + right +
             "': give some of watch, kubelet, cdi, bind, with commas between";
    }
  }
  return {};
}

std::string checkDraDriver(const std::string& text) {
  if (isDraDriver(text)) return {};
  return "'" + text +
         "' is no DRA driver's name: give a lower-case DNS name that begins with a letter and has "
         "at most 63 characters, such as vfio.vfiogate.dev";
}

Option logFormatOption(LogForm& form) {
  const auto take = [&form](const std::string& text) {
    const auto given = logFormOf(text);
    if (!given) return "'" + text + "' is neither logfmt nor json";
    form = *given;
    return std::string();
  };
  return {"--log-format", "how the log's lines are written: logfmt, json", "TEXT:{logfmt,json}",
          "logfmt", take};
}

std::string checkSwitch(const std::string& text) {
  return text == "on" || text == "off" ? "" : "'" + text + "' is neither on nor off";
}

Option uidOption(uid_t& uid) {
  const auto take = [&uid](const std::string& text) -> std::string {
    const auto number = parseDecimal(text);
    if (!number) return "'" + text + "' is no uid in decimal digits";
    if (*number == 0) return "plugind must not run as root: give the uid that it drops to";
    uid = *number;
    return {};
  };
  return {"--plugind-uid", "the only uid taken for plugind", "UINT", std::to_string(uid), take};
}

Option rescanOption(std::uint32_t& seconds) {
  const auto take = [&seconds](const std::string& text) -> std::string {
    const auto number = parseDecimal(text);
    if (!number || *number == 0 || *number > kLongestRescan) {
      return "'" + text + "' is no number of seconds from 1 to " + std::to_string(kLongestRescan);
    }
    seconds = *number;
    return {};
  };
  return {"--rescan", "seconds between rereads without a hint", "UINT:INT in [1 - 86400]",
          std::to_string(seconds), take};
}

/// The first one given takes the place of the default.
Option prefixOption(std::vector<std::string>& prefixes) {
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

}  // namespace

OptionTable serveOptions(ServeOptions& options) {
  OptionTable table{
      textOption("--plugind", options.plugind, "the socket on which plugind listens"),
      uidOption(options.plugindUid),
      checked(textOption("--plugind-rights", options.plugindRights,
                         "what plugind may: watch, kubelet, cdi, bind"),
              checkRights),
      textOption("--sysfs", options.sysfs, "the root below which sysfs is found"),
      textOption("--dev", options.dev, "the root below which device nodes are looked for"),
      textOption("--kubelet-dir", options.kubeletDir, "the kubelet's directory"),
      textOption("--cdi-dir", options.cdiDir,
                 "where container runtimes look for CDI specs; made where plugind may have them"),
      textOption("--state-dir", options.stateDir,
                 "the directory of what survives restarts; one a node"),
      recordOption(options.recordDir),
      prefixOption(options.resourcePrefixes),
      checked(textOption("--dra-driver", options.draDriver,
                         "the DRA driver that plugind may be: its sockets and claims' CDI specs",
                         "NAME"),
              checkDraDriver),
      textOption("--plugind-config", options.plugindConfig,
                 "plugind's configuration: watched, and handed to plugind when it changes", "FILE"),
      checked(textOption("--uevents", options.uevents, "listen to the kernel's hints: on, off",
                         "TEXT:{on,off}"),
              checkSwitch),
      rescanOption(options.rescanSeconds),
      logFormatOption(options.logForm),
      auditOption(options.binding),
  };
  std::ranges::move(guardOptions(options.binding), std::back_inserter(table));
  table.push_back(overrideOption(options.binding.overrides));
  table.push_back(declareOption(options.declared));
  table.push_back(
      flagOption("--require-landlock", options.requireLandlock,
                 "do not start where the kernel's Landlock cannot confine this daemon's files"));
  return table;
}

}  // namespace vfiogate
