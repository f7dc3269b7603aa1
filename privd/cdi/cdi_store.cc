#include "privd/cdi/cdi_store.h"

#include "ipc/base/kube_names.h"
#include "privd/base/log_line.h"
#include "privd/cdi/cdi_spec.h"

#include <cerrno>
#include <cstring>
#include <optional>

namespace vfiogate {
namespace {

using Kind = SpecOutcome::Kind;

SpecOutcome failed(int error) {
  return {.kind = Kind::kFailed, .error = error, .devices = {}};
}

SpecOutcome refused(Kind kind) {
  return {.kind = kind, .error = 0, .devices = {}};
}

void tellFailure(kj::StringPtr what, int error) {
  logLine(LogEvent::kSpecFailed, {{"what", kj::str(what)}, {"error", kj::str(strerror(error))}});
}

}  // namespace

std::vector<SpecOutcome> CdiStore::declare(const std::vector<StaticSpec>& specs,
                                           const Snapshot& hardware) {
  const auto directory = CdiDirectory::open(directory_);
  if (!directory) {
    const int error = directory.error().error;
    if (error != ENOENT || !specs.empty()) tellFailure(directory_.c_str(), error);
    return std::vector<SpecOutcome>(specs.size(), failed(error));
  }
  std::vector<SpecOutcome> outcomes;
  std::set<std::string> kept;
  for (const StaticSpec& spec : specs) outcomes.push_back(place(*directory, spec, hardware, kept));
  unlinkOthers(*directory, kept);
  if (!unsynced_) return outcomes;
  const auto synced = directory->sync();
  if (synced) {
    unsynced_ = false;
    return outcomes;
  }
  tellFailure(directory_.c_str(), synced.error().error);
  for (SpecOutcome& outcome : outcomes) {
    if (outcome.kind == Kind::kInPlace) outcome = failed(synced.error().error);
  }
  return outcomes;
}

SpecOutcome CdiStore::place(const CdiDirectory& directory, const StaticSpec& spec,
                            const Snapshot& hardware, std::set<std::string>& kept) {
  const auto resource = ResourceName::parse(spec.resource);
  if (!resource) return refused(Kind::kBadName);
  if (!isCdiKind(*resource)) return refused(Kind::kNotKind);
  if (!gate_.covers(*resource)) return refused(Kind::kForeignPrefix);
  SpecOutcome outcome{.kind = Kind::kInPlace, .error = 0, .devices = devicesOf(spec, hardware)};
  std::vector<SpecDevice> reached = outcome.devices;
  std::erase_if(reached, [](const SpecDevice& device) { return device.nodes.empty(); });
  if (reached.empty()) return outcome;
  const std::string name = specFileName(*resource);
  const auto written = directory.put(name, specText(*resource, reached));
  if (!written) {
    tellFailure(resource->str().c_str(), written.error().error);
    return failed(written.error().error);
  }
  kept.insert(name);
  if (*written) {
    unsynced_ = true;
    logLine(LogEvent::kSpecWritten, {{"resource", kj::str(resource->str().c_str())},
                                     {"name", kj::str(name.c_str())},
                                     {"devices", kj::str(reached.size())}});
  }
  return outcome;
}

std::vector<SpecDevice> CdiStore::devicesOf(const StaticSpec& spec,
                                            const Snapshot& hardware) const {
  std::vector<SpecDevice> devices;
  for (const Bdf& address : spec.devices) {
    devices.push_back(
        {address, nodesOnDisk(dev_, hardware, handedOver(spec, hardware, address), spec.backend)});
  }
  return devices;
}

void CdiStore::unlinkOthers(const CdiDirectory& directory, const std::set<std::string>& kept) {
  const auto names = directory.names();
  if (!names) return tellFailure(directory_.c_str(), names.error().error);
  for (const std::string& name : *names) {
    if (!isSpecFileName(name) || kept.contains(name)) continue;
    const auto removed = directory.remove(name);
    if (!removed) {
      tellFailure(name.c_str(), removed.error().error);
      continue;
    }
    unsynced_ = true;
    logLine(LogEvent::kSpecUnlinked, {{"name", kj::str(name.c_str())}});
  }
}

}  // namespace vfiogate
