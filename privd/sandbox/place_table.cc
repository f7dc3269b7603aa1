#include "privd/sandbox/place_table.h"

#include "privd/base/log_line.h"
#include "privd/base/open_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace vfiogate {
namespace {

constexpr std::string_view kDirectoryOf = "/..";

/// Empty: an option that it names has no value.
std::string pathOf(std::string_view place, const PlaceValues& values) {
  std::string path(place);
  for (const auto& [name, value] : values) {
    const std::size_t at = path.find(name);
    if (at == std::string::npos) continue;
    if (value.empty()) return {};
    path.replace(at, name.size(), value);
  }
  if (!path.ends_with(kDirectoryOf)) return path;
  return splitPath(path.substr(0, path.size() - kDirectoryOf.size())).directory;
}

bool isMissing(const std::string& path) {
  const kj::AutoCloseFd fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
  return fd.get() < 0 && errno == ENOENT;
}

void allow(const PlaceRow& row, std::string path, AllowedPlaces& allowed) {
  if (isMissing(path)) {
    if (row.missing == IfMissing::kNothing) return;
    allowed.above.push_back(path);
    while (isMissing(path)) path = splitPath(path).directory;
  }
  allowed.places.push_back({std::move(path), row.rights});
}

void report(const Landlocked& confined, const AllowedPlaces& allowed) {
  if (confined.abi == 0) {
    logLine(LogEvent::kLandlock, {{"abi", "0"}, {"error", strerrordesc_np(confined.whyNone)}});
    return;
  }
  std::string missing;
  for (const std::string& path : allowed.above) missing += (missing.empty() ? "" : ",") + path;
  if (missing.empty()) return logLine(LogEvent::kLandlock, {{"abi", kj::str(confined.abi)}});
  logLine(LogEvent::kLandlock, {{"abi", kj::str(confined.abi)}, {"missing", missing}});
}

}  // namespace

AllowedPlaces allowedPlaces(std::span<const PlaceRow> table, const PlaceValues& values,
                            const PlacesOf& several) {
  AllowedPlaces allowed;
  for (const PlaceRow& row : table) {
    if (row.place == several.row) {
      for (const std::string& path : several.paths) allow(row, path, allowed);
    } else if (std::string path = pathOf(row.place, values); !path.empty()) {
      allow(row, std::move(path), allowed);
    }
  }
  return allowed;
}

Result<PlacesHeld, StepFailure> confineTo(const AllowedPlaces& allowed, bool requireLandlock) {
  if (requireLandlock && !allowed.above.empty()) {
    return Failure{StepFailure{"--require-landlock: " + allowed.above.front(), ENOENT}};
  }
  PlacesHeld held;
  std::vector<kj::AutoCloseFd> passing;
  std::vector<OpenPlace> open;
  for (const AllowedPlaces::Place& place : allowed.places) {
    const int fd = ::open(place.path.c_str(), O_PATH | O_CLOEXEC);
    if (fd < 0) return Failure{StepFailure{"Landlock: " + place.path, errno}};
    (place.path.starts_with("/proc/") ? held.descriptors : passing).emplace_back(fd);
    open.push_back({fd, place.rights});
  }
  const Landlocked confined = confine(open);
  if (confined.failure) return Failure{*confined.failure};
  if (confined.abi == 0 && requireLandlock) {
    return Failure{StepFailure{"--require-landlock: landlock_create_ruleset", confined.whyNone}};
  }
  report(confined, allowed);
  held.abi = confined.abi;
  return held;
}

}  // namespace vfiogate
