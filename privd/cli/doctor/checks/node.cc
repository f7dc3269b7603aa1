#include "privd/cli/doctor/examine.h"

#include "ipc/base/hex.h"
#include "ipc/types/viability.h"

#include <algorithm>
#include <cerrno>
#include <sstream>

namespace vfiogate {
namespace {

constexpr std::uint32_t kOthersWrite = 022;

std::string ownerAndMode(const SeenPlace& place) {
  std::ostringstream text;
  text << place.path << ": uid " << place->uid << ", mode " << std::oct << place->mode;
  return text.str();
}

/// What is said of a directory that is not there.
struct IfAbsent {
  Level level;
  const char* what;
  const char* fix;
};

/// Judges a directory that root writes and nobody else.
Finding judgePlace(Check check, const SeenPlace& place, const IfAbsent& absent) {
  const auto say = [&](Level level, std::string what, std::string evidence, std::string fix = {}) {
    return Finding{check, level, place.path, std::move(what), std::move(evidence), std::move(fix)};
  };
  if (!place) {
    if (place.absent()) return say(absent.level, absent.what, whyNot(place), absent.fix);
    return say(Level::kUnknown, "could not be looked at", whyNot(place), "run it as root");
  }
  if (!place->directory)
    return say(Level::kProblem, "no directory", ownerAndMode(place), "remove it");
  if (place->uid != 0) {
    return say(Level::kProblem, "not root's: who owns it decides what containers get",
               ownerAndMode(place), "chown root: " + place.path);
  }
  if ((place->mode & kOthersWrite) != 0) {
    return say(Level::kProblem, "others than root write there", ownerAndMode(place),
               "chmod go-w " + place.path);
  }
  return say(Level::kOk, "root's", ownerAndMode(place));
}

/// The value of the last `enable_cdi = ...` that is no comment; empty: none.
std::string enableCdi(const std::string& config) {
  std::istringstream lines(config);
  std::string found;
  for (std::string line; std::getline(lines, line);) {
    std::erase_if(line, [](char c) { return c == ' ' || c == '\t' || c == '\r'; });
    line.resize(std::min(line.find('#'), line.size()));
    constexpr std::string_view kKey = "enable_cdi=";
    if (line.starts_with(kKey)) found = line.substr(kKey.size());
  }
  return found;
}

void checkContainerd(const SeenText& config, Findings& findings) {
  const auto say = [&](Level level, std::string what, std::string evidence, std::string fix) {
    findings.push_back({Check::kRuntimeCdi, level, "containerd", std::move(what),
                        std::move(evidence), std::move(fix)});
  };
  const std::string fix =
      "enable_cdi = true below [plugins.\"io.containerd.grpc.v1.cri\"], then restart containerd";
  if (!config) {
    config.absent()
        ? say(Level::kInfo, "no configuration; CRI-O reads CDI specs by itself", whyNot(config), "")
        : say(Level::kUnknown, "its configuration was not seen", whyNot(config), "");
    return;
  }
  const std::string value = enableCdi(*config);
  if (value.empty()) {
    say(Level::kInfo, "enable_cdi is not set: off before containerd 2.0, on since", config.path,
        fix);
  } else if (value == "true") {
    say(Level::kOk, "reads CDI specs", config.path + ": enable_cdi = true", "");
  } else {
    say(Level::kWarning, "reads no CDI specs: resources with inject: cdi fail",
        config.path + ": enable_cdi = " + value, fix);
  }
}

struct Mount {
  std::string point;
  std::string options;
  std::string type;
};

/// mountinfo writes blanks and backslashes in octal.
std::string unescaped(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      plain += static_cast<char>(((text[i + 1] - '0') << 6) + ((text[i + 2] - '0') << 3) +
                                 (text[i + 3] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

bool isBelow(const std::string& path, const std::string& point) {
  return path == point || point == "/" || path.starts_with(point + "/");
}

/// The mount that `path` is seen through: of the longest points the last.
std::optional<Mount> mountOf(const std::string& path, const std::string& mountinfo) {
  std::optional<Mount> best;
  std::istringstream lines(mountinfo);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string skipped;
    Mount mount;
    words >> skipped >> skipped >> skipped >> skipped >> mount.point >> mount.options;
    while (words >> skipped && skipped != "-") {
    }
    if (!(words >> mount.type)) continue;
    mount.point = unescaped(mount.point);
    if (!isBelow(path, mount.point)) continue;
    if (!best || mount.point.size() >= best->point.size()) best = mount;
  }
  return best;
}

}  // namespace

void checkCdi(const HostFacts& facts, Findings& findings) {
  for (const SeenPlace& place : facts.cdiDirectories) {
    findings.push_back(
        judgePlace(Check::kCdiDirectory, place,
                   {Level::kInfo, "not there: no CDI spec was written", "docs/cdi.md"}));
  }
  checkContainerd(facts.containerd, findings);
}

void checkKubelet(const HostFacts& facts, Findings& findings) {
  const KubeletFacts& kubelet = facts.kubelet;
  if (!kubelet.directory) {
    findings.push_back(judgePlace(Check::kKubeletDirectory, kubelet.directory,
                                  {Level::kInfo, "not there: no kubelet has run on this host",
                                   "if it is elsewhere: --kubelet-dir DIR"}));
    return;
  }
  for (const SeenPlace& place : kubelet.below) {
    findings.push_back(
        judgePlace(Check::kKubeletDirectory, place,
                   {Level::kWarning, "not there", "start the kubelet, which makes it"}));
  }
}

void checkSecurity(const HostFacts& facts, Findings& findings) {
  const auto say = [&](Level level, std::string what, std::string evidence, std::string fix) {
    findings.push_back(
        {Check::kSecurityModule, level, "", std::move(what), std::move(evidence), std::move(fix)});
  };
  const bool selinux = facts.selinux && facts.selinux->starts_with("1");
  const bool apparmor = facts.apparmor && facts.apparmor->starts_with("Y");
  if (selinux) {
    say(Level::kInfo, "SELinux enforces: privd's pod needs a type of its own",
        facts.selinux.path + ": " + *facts.selinux, "deploy/selinux/README.md");
  }
  if (apparmor) {
    say(Level::kInfo, "AppArmor is on: there is a profile for privd",
        facts.apparmor.path + ": " + *facts.apparmor, "deploy/apparmor/README.md");
  }
  if (selinux || apparmor) return;
  const bool seen =
      (facts.selinux || facts.selinux.absent()) && (facts.apparmor || facts.apparmor.absent());
  say(seen ? Level::kInfo : Level::kUnknown,
      seen ? "neither AppArmor nor SELinux is on" : "could not be told",
      seen ? "" : whyNot(facts.selinux || facts.selinux.absent() ? facts.apparmor : facts.selinux),
      "");
}

void checkLandlock(const HostFacts& facts, Findings& findings) {
  const std::string answer = "landlock_create_ruleset: errno " + std::to_string(-facts.landlock);
  if (facts.landlock > 0) {
    findings.push_back({Check::kLandlock, Level::kOk, "",
                        "the kernel confines which files privd opens",
                        "ABI " + std::to_string(facts.landlock), ""});
  } else if (facts.landlock == 0 || facts.landlock == -EPERM) {
    findings.push_back({Check::kLandlock, Level::kUnknown, "",
                        "whether the kernel has Landlock could not be asked", answer,
                        "ask on the host"});
  } else {
    findings.push_back(
        {Check::kLandlock, Level::kInfo, "",
         "the kernel has no Landlock: privd's filter and modes of files confine it alone", answer,
         "CONFIG_SECURITY_LANDLOCK, and landlock among lsm= on the command line"});
  }
}

void checkSysfs(const HostFacts& facts, Findings& findings) {
  const auto say = [&](Level level, std::string what, std::string evidence, std::string fix) {
    findings.push_back(
        {Check::kSysfsWritable, level, "", std::move(what), std::move(evidence), std::move(fix)});
  };
  if (!facts.mounts) {
    say(Level::kUnknown, "mounts were not seen", whyNot(facts.mounts), "");
    return;
  }
  const auto mount = mountOf(facts.sysfs, *facts.mounts);
  if (!mount || mount->type != "sysfs") {
    say(Level::kUnknown, facts.sysfs + " is no mount of sysfs",
        facts.mounts.path + ": " + (mount ? mount->point + " is " + mount->type : "no such mount"),
        "name the host's: --sysfs DIR");
    return;
  }
  const bool readOnly = mount->options == "ro" || mount->options.starts_with("ro,");
  say(readOnly ? Level::kWarning : Level::kOk,
      readOnly ? "mounted read-only: nothing can be bound from here" : "mounted for writing",
      facts.mounts.path + ": " + mount->point + " " + mount->options,
      readOnly ? "in a container: mount the host's /sys, as deploy/kubernetes does" : "");
}

void checkObstacles(const HostFacts& facts, Findings& findings) {
  if (!facts.hardware) {
    findings.push_back(unseenHardware(Check::kNodeObstacle, facts));
    return;
  }
  const auto obstacles = obstaclesOf(*facts.hardware, BindingAsked::kYes);
  for (const NodeObstacle& obstacle : obstacles) {
    findings.push_back({Check::kNodeObstacle, Level::kWarning, std::string(obstacle.code),
                        "as privd, plugind and readiness name it", facts.sysfs,
                        std::string(obstacle.fix)});
  }
  if (obstacles.empty()) {
    const bool tried = facts.hardware->sysfsWriting == SysfsWriting::kPossible;
    findings.push_back({Check::kNodeObstacle, Level::kOk, "",
                        tried ? "none; sysfs can be written"
                              : "none that is seen; whether sysfs can be written was not tried",
                        facts.sysfs, ""});
  }
}

}  // namespace vfiogate
