#include "privd/sandbox/lasting_directories.h"

#include "privd/cdi/device_metadata.h"
#include "privd/options/serve_options.h"

#include <sys/stat.h>

#include <cerrno>

namespace vfiogate {

void LastingDirectories::add(const std::string& path, IfReplaced replaced, IfMissing missing) {
  struct stat status = {};
  Directory directory{path, replaced, missing, std::nullopt};
  if (stat(path.c_str(), &status) == 0) directory.identity.emplace(status.st_dev, status.st_ino);
  directories_.push_back(std::move(directory));
}

std::optional<LastingDirectories::Lost> LastingDirectories::lost() const {
  for (const Directory& each : directories_) {
    struct stat now = {};
    if (stat(each.path.c_str(), &now) != 0) {
      const bool gone = errno == ENOENT && each.identity && each.missing == IfMissing::kClosed;
      if (gone) return Lost{each.path, "was removed"};
      continue;
    }
    // Removed, and only a mount of ours has it still.
    if (now.st_nlink == 0) return Lost{each.path, "was removed"};
    const bool other = each.identity && *each.identity != std::pair(now.st_dev, now.st_ino);
    if (other && each.replaced == IfReplaced::kClosed) return Lost{each.path, "was made anew"};
  }
  return std::nullopt;
}

LastingDirectories gateDirectories(const ServeOptions& options, Confined confined) {
  using Directories = LastingDirectories;
  constexpr auto kAwaited = Directories::IfMissing::kAwaited;
  constexpr auto kClosed = Directories::IfMissing::kClosed;
  const auto replaced = confined == Confined::kYes ? Directories::IfReplaced::kClosed
                                                   : Directories::IfReplaced::kReachable;
  Directories all = daemonDirectories(options);
  all.add(options.kubeletDir + "/device-plugins", replaced, kAwaited);
  all.add(options.kubeletDir + "/pod-resources", Directories::IfReplaced::kReachable, kAwaited);
  if (!options.draDriver.empty()) {
    const std::string driver = options.kubeletDir + "/plugins/" + options.draDriver;
    all.add(options.kubeletDir + "/plugins_registry", replaced, kAwaited);
    all.add(driver, replaced, kClosed);
    all.add(driver + kMetadataDirectory, replaced, kClosed);
  }
  if (options.plugindRights.find("cdi") != std::string::npos) {
    all.add(options.cdiDir, replaced, kClosed);
  }
  return all;
}

LastingDirectories daemonDirectories(const ServeOptions& options) {
  LastingDirectories all;
  all.add(recordDirectory(options.recordDir, options.stateDir),
          LastingDirectories::IfReplaced::kClosed, LastingDirectories::IfMissing::kClosed);
  return all;
}

}  // namespace vfiogate
