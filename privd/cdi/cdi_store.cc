#include "privd/cdi/cdi_store.h"

#include "ipc/base/kube_names.h"
#include "privd/base/log_line.h"
#include "privd/cdi/cdi_spec.h"

#include <algorithm>
#include <cerrno>

namespace vfiogate {
namespace {

std::size_t mentions(const StaticSpecText& spec) {
  std::size_t count = 0;
  for (const auto& device : spec.devices) count += spec.nodeSets.at(device.nodes).size();
  return count;
}

}  // namespace

Result<Done, SpecRefused> CdiStore::put(const StaticSpecText& spec) {
  const auto resource = ResourceName::parse(spec.resource);
  if (!resource || !isCdiKind(*resource)) return refusedFor(gate::Code::kBadName);
  if (!names_.covers(*resource)) return refusedFor(gate::Code::kForeign);
  if (mentions(spec) > kMostSpecMentions) {
    return refusedIn("devices: more than " + std::to_string(kMostSpecMentions) + " nodes in all");
  }
  const auto directory = CdiDirectory::open(directory_);
  if (!directory) return failedAt(resource->str(), directory.error());
  const std::string name = specFileName(*resource);
  const std::string text = specText(*resource, spec);
  const auto admitted = admit(*directory, name, text.size());
  const auto written =
      admitted ? directory->put(name, text) : Result<bool, ReadError>(Failure{admitted.error()});
  if (!written) return failedAt(resource->str(), written.error());
  put_.insert(name);
  if (*written) {
    unsynced_ = true;
    logLine(
        LogEvent::kSpecWritten,
        {{"resource", resource->str()}, {"name", name}, {"devices", kj::str(spec.devices.size())}});
  }
  return Done{};
}

Result<Done, ReadError> CdiStore::keepOnlyThose() {
  const auto directory = CdiDirectory::open(directory_);
  if (!directory) {
    const bool nothing = directory.error().error == ENOENT && put_.empty();
    put_.clear();
    if (nothing) return Done{};
    return Failure{toldOf(directory_, directory.error())};
  }
  unlinkOthers(*directory);
  put_.clear();
  if (!unsynced_) return Done{};
  const auto synced = directory->sync();
  if (!synced) return Failure{toldOf(directory_, synced.error())};
  unsynced_ = false;
  return Done{};
}

/// A peer that names its resources anew each time would fill the disk.
Result<Done, ReadError> CdiStore::admit(const CdiDirectory& directory, const std::string& name,
                                        std::size_t bytes) {
  const auto names = directory.names();
  if (!names) return Failure{names.error()};
  std::size_t files = 1;
  for (const std::string& other : *names) {
    if (!isSpecFileName(other) || other == name) continue;
    ++files;
    bytes += directory.sizeOf(other);
  }
  if (files > kMostFiles || bytes > kMostBytes) return Failure{ReadError{EDQUOT}};
  return Done{};
}

void CdiStore::unlinkOthers(const CdiDirectory& directory) {
  const auto names = directory.names();
  if (!names) {
    toldOf(directory_, names.error());
    return;
  }
  for (const std::string& name : *names) {
    if (!isSpecFileName(name) || put_.contains(name)) continue;
    const auto removed = directory.remove(name);
    if (!removed) {
      toldOf(name, removed.error());
      continue;
    }
    unsynced_ = true;
    logLine(LogEvent::kSpecUnlinked, {{"name", name}});
  }
}

}  // namespace vfiogate
