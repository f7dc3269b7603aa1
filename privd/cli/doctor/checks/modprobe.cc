#include "privd/cli/doctor/examine.h"
#include "privd/cli/doctor/modprobe_config.h"

#include <algorithm>

namespace vfiogate {
namespace {

constexpr std::array kVfioModules{"vfio", "vfio_pci", "vfio_iommu_type1"};

struct HostileOption {
  const char* module;
  const char* parameter;
  const char* what;
};
constexpr std::array kHostileOptions{
    HostileOption{"vfio", "enable_unsafe_noiommu_mode", "lets VFIO work without an IOMMU"},
    HostileOption{"vfio_iommu_type1", "allow_unsafe_interrupts",
                  "lets VFIO work without interrupt remapping"},
    HostileOption{"vfio_pci", "disable_denylist",
                  "devices that the kernel knows to break the host are taken, too"},
};

bool isVfio(const std::string& module) {
  return std::ranges::find(kVfioModules, module) != kVfioModules.end();
}

bool switchesOn(const ModprobeLine& line, std::string_view parameter) {
  return std::ranges::any_of(valuesOf(line, parameter), [](const std::string& value) {
    return value == "1" || value == "Y" || value == "y" || value == "on";
  });
}

/// A driver that a softdep of vfio-pci loads first; empty: none.
std::string loadedBefore(const ModprobeLine& line) {
  bool before = false;
  for (const std::string& word : line.words) {
    if (word.ends_with(':')) {
      before = word == "pre:";
    } else if (before && !moduleKey(word).starts_with("vfio")) {
      return word;
    }
  }
  return {};
}

/// What one line says against VFIO; an empty `what`: nothing. `own`: the operator's directory.
Finding judgeLine(const ModprobeLine& line, const SeenText& file, const std::string& own) {
  const std::string where = file.path + ":" + std::to_string(line.number);
  const std::string place = file.path.substr(0, file.path.rfind('/'));
  const std::string mend = place == own ? "take it out of " + file.path
                                        : "copy " + file.path + " to " + own +
                                              " without it: a package owns the original";
  const auto say = [&](Level level, std::string what) {
    return Finding{Check::kModprobeConfig, level, line.command + " " + line.module,
                   std::move(what),        where, mend + ", then update-initramfs -u or dracut -f"};
  };
  const Finding nothing{Check::kModprobeConfig, Level::kOk, "", "", "", ""};
  if (!isVfio(line.module)) return nothing;
  if (line.command == "blacklist") {
    return say(Level::kProblem, "is never loaded by itself, nor by /etc/modules-load.d");
  }
  if (line.command == "install") {
    return say(Level::kProblem, "modprobe runs a command instead of loading it");
  }
  if (line.command == "softdep" && line.module == "vfio_pci" && !loadedBefore(line).empty()) {
    return say(Level::kWarning, loadedBefore(line) +
                                    " is loaded first, and takes devices before "
                                    "vfio-pci can");
  }
  if (line.command == "options") {
    for (const HostileOption& hostile : kHostileOptions) {
      if (line.module == hostile.module && switchesOn(line, hostile.parameter)) {
        return say(Level::kWarning, std::string(hostile.parameter) + ": " + hostile.what);
      }
    }
  }
  return nothing;
}

/// Where the host's own settings are, which come before the packages'.
std::string ownPlace(const BootFacts& boot) {
  return boot.modprobe.empty() ? "/etc/modprobe.d" : boot.modprobe.front().path;
}

}  // namespace

std::string modprobePlaces(const BootFacts& boot) {
  std::string places;
  for (const SeenNames& directory : boot.modprobe) {
    if (directory) places += (places.empty() ? "" : ", ") + directory.path;
  }
  return places.empty() ? ownPlace(boot) : places;
}

void checkModprobe(const HostFacts& facts, Findings& findings) {
  const BootFacts& boot = facts.boot;
  const auto say = [&](Level level, const std::string& what, const std::string& evidence) {
    findings.push_back({Check::kModprobeConfig, level, "", what, evidence, ""});
  };
  bool clean = true;
  for (const SeenNames& directory : boot.modprobe) {
    if (directory || directory.absent()) continue;
    clean = false;
    say(Level::kUnknown, "could not be looked at", whyNot(directory));
  }
  for (const auto& [name, file] : boot.modprobeFiles) {
    if (!file) {
      clean = false;
      say(Level::kUnknown, "could not be read", whyNot(file));
      continue;
    }
    for (const ModprobeLine& line : parseModprobe(*file)) {
      Finding found = judgeLine(line, file, ownPlace(boot));
      if (found.what.empty()) continue;
      clean = false;
      findings.push_back(std::move(found));
    }
  }
  if (clean) say(Level::kOk, "nothing against VFIO", modprobePlaces(boot));
}

}  // namespace vfiogate
