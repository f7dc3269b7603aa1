#include "privd/options/shared_options.h"

#include "ipc/base/hex.h"
#include "privd/options/known_options.h"

#include <algorithm>
#include <array>
#include <iostream>
#include <sstream>
#include <string_view>
#include <utility>

namespace vfiogate {
namespace {

constexpr int kUsage = 2;
constexpr std::uint32_t kLongestRescan = 86400;
constexpr std::uint32_t kMostDescriptors = 1U << 20U;
constexpr std::array<std::string_view, 6> kRights{"watch",  "kubelet", "cdi",
                                                  "serial", "probe",   "bind"};

std::string checkRights(const std::string& text) {
  std::istringstream rights(text);
  for (std::string right; std::getline(rights, right, ',');) {
    if (std::ranges::find(kRights, right) == kRights.end()) {
      return "unknown right '" + right +
             "': give some of watch, kubelet, cdi, serial, probe, bind, with commas between";
    }
  }
  return {};
}

std::string checkSwitch(const std::string& text) {
  return text == "on" || text == "off" ? "" : "'" + text + "' is neither on nor off";
}

}  // namespace

Option plugindUidOption(uid_t& uid) {
  const auto take = [&uid](const std::string& text) -> std::string {
    const auto number = parseDecimal(text);
    if (!number) return "'" + text + "' is no uid in decimal digits";
    if (*number == 0) return "plugind must not run as root: give the uid that it drops to";
    uid = *number;
    return {};
  };
  return {"--plugind-uid", "the only uid taken for plugind", "UINT", std::to_string(uid), take};
}

Option rightsOption(std::string& rights) {
  return checked(textOption("--plugind-rights", rights,
                            "what plugind may: watch, kubelet, cdi, serial, probe, bind"),
                 checkRights);
}

Option sysfsOption(std::string& path) {
  return textOption("--sysfs", path, "the root below which sysfs is found");
}

Option devOption(std::string& path) {
  return textOption("--dev", path, "the root below which device nodes are looked for");
}

Option stateOption(std::string& path) {
  return textOption("--state-dir", path, "the directory of what survives restarts; one a node");
}

Option ueventsOption(std::string& uevents) {
  return checked(
      textOption("--uevents", uevents, "listen to the kernel's hints: on, off", "TEXT:{on,off}"),
      checkSwitch);
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

Option landlockOption(bool& required) {
  return flagOption("--require-landlock", required,
                    "do not start where the kernel's Landlock cannot confine this daemon's files");
}

Option readyOption(int& fd) {
  const auto take = [&fd](const std::string& text) -> std::string {
    const auto number = parseDecimal(text);
    if (!number || *number <= 2 || *number >= kMostDescriptors) {
      return "'" + text + "' is no descriptor above 2";
    }
    fd = static_cast<int>(*number);
    return {};
  };
  return {"--ready-fd", "for privd serve: a socket by which they know of each other", "UINT", "",
          take};
}

bool hasRight(const std::string& rights, const std::string& right) {
  return ("," + rights + ",").find("," + right + ",") != std::string::npos;
}

std::optional<int> takeArguments(OptionTable& table, const std::vector<std::string>& given,
                                 const ProgramWords& words) {
  table.push_back(fileOption(table, kOptionsOfPrivd));
  const std::string text = helpOrVersion(given, words.about, table, words.version);
  if (!text.empty()) {
    std::cout << text;
    return 0;
  }
  const auto parsed = parseOptions(table, given, words.name);
  if (parsed) return std::nullopt;
  std::cerr << words.name << ": " << parsed.error() << "\nRun '" << words.name
            << " --help' for what there is.\n";
  return kUsage;
}

}  // namespace vfiogate
