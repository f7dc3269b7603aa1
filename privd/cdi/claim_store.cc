#include "privd/cdi/claim_store.h"

#include "ipc/base/kube_names.h"
#include "privd/base/log_line.h"
#include "privd/cdi/cdi_spec.h"
#include "privd/cdi/device_metadata.h"

#include <algorithm>
#include <cerrno>

namespace vfiogate {
namespace {

/// Ascending.
Result<std::vector<std::string>, ReadError> uidsIn(const CdiDirectory& directory) {
  auto names = directory.names();
  if (!names) return names;
  std::vector<std::string> uids;
  for (const std::string& name : *names) {
    if (auto uid = claimUidOf(name)) uids.push_back(*std::move(uid));
  }
  std::ranges::sort(uids);
  return uids;
}

}  // namespace

std::string ClaimStore::refuse(const ClaimSpec& spec) const {
  if (auto fault = faultIn(spec)) return *std::move(fault);
  if (spec.driver != names_.draDriver) return "driver: not privd's --dra-driver";
  if (spec.metadata && !isPlainPath(metadataDirectory_)) {
    return "metadata: --kubelet-dir has characters that JSON would want escaped";
  }
  for (const ClaimDevice& device : spec.devices) {
    const auto resource = ResourceName::parse(device.resource);
    if (resource && names_.covers(*resource)) continue;
    return "device " + device.address.str() +
           ": its resource is not within privd's --resource-prefix";
  }
  return {};
}

Result<Done, SpecRefused> ClaimStore::write(const ClaimSpecText& wanted) {
  const ClaimSpec& spec = wanted.spec;
  if (auto fault = refuse(spec); !fault.empty()) return refusedIn(std::move(fault));
  std::vector<std::vector<std::string>> nodes;
  for (const SpecNodes& each : wanted.nodes) nodes.push_back(pathsOf(each));
  const std::string text = claimSpecText(spec, nodes, metadataDirectory_);
  if (text.size() > kLongestClaimSpec) return refusedIn("devices: a spec of more than 64 KiB");
  const auto done = put(spec, text);
  if (!done) return failedAt(claimFileName(spec.uid), done.error());
  return Done{};
}

Result<Done, ReadError> ClaimStore::putMetadata(const ClaimSpec& spec) const {
  const auto directory = CdiDirectory::open(metadataDirectory_);
  if (!directory) return Failure{directory.error()};
  RequestsByFile requests;
  for (const ClaimDevice& device : spec.devices) {
    requests[metadataFileName(spec.uid, device.request)] = device.request;
  }
  // A peer that names its requests anew each time would fill the disk. First: where the directory
  // cannot be listed nothing comes into it.
  if (const auto done = unlinkMetadata(spec.uid, requests); !done) return done;
  for (const auto& [name, request] : requests) {
    const auto written = directory->put(name, metadataText(spec, request));
    if (!written) return Failure{written.error()};
  }
  return directory->sync();
}

Result<Done, ReadError> ClaimStore::put(const ClaimSpec& spec, const std::string& text) {
  const auto directory = CdiDirectory::open(directory_);
  if (!directory) return Failure{directory.error()};
  const auto uids = uidsIn(*directory);
  if (!uids) return Failure{uids.error()};
  const bool known = std::ranges::binary_search(*uids, spec.uid);
  if (uids->size() >= kMostClaimSpecs && !known) return Failure{ReadError{EDQUOT}};
  const std::string name = claimFileName(spec.uid);
  const auto prepared = spec.metadata ? putMetadata(spec) : Done{};
  const auto written =
      prepared ? directory->put(name, text) : Result<bool, ReadError>(Failure{prepared.error()});
  if (!written) {
    // What belongs to no spec is not counted, and nobody would take it away.
    if (!known) static_cast<void>(unlinkMetadata(spec.uid, {}));
    return Failure{written.error()};
  }
  if (*written) logLine(LogEvent::kSpecWritten, {{"claim", spec.uid}, {"name", name}});
  unsynced_ = unsynced_ || *written;
  if (!unsynced_) return Done{};
  const auto synced = directory->sync();
  unsynced_ = !synced;
  return synced;
}

Result<Done, ReadError> ClaimStore::unlink(const std::string& uid) {
  const std::string name = claimFileName(uid);
  const auto directory = CdiDirectory::open(directory_);
  if (!directory && directory.error().error != ENOENT) {
    return Failure{toldOf(directory_, directory.error())};
  }
  if (directory) {
    const auto begun = directory->remove(temporaryNameOf(name));  // of a privd that died meanwhile
    const auto removed = begun ? directory->remove(name) : begun;
    if (!removed) return Failure{toldOf(name, removed.error())};
    if (*removed) logLine(LogEvent::kSpecUnlinked, {{"name", name}});
    // Also where it was gone: it may be since a moment, and not durably.
    if (const auto synced = directory->sync(); !synced)
      return Failure{toldOf(name, synced.error())};
  }
  const auto done = unlinkMetadata(uid, {});
  if (!done) return Failure{toldOf(metadataDirectory_, done.error())};
  return Done{};
}

Result<Done, ReadError> ClaimStore::unlinkMetadata(const std::string& uid,
                                                   const RequestsByFile& kept) const {
  const auto directory = CdiDirectory::open(metadataDirectory_);
  if (!directory && directory.error().error == ENOENT) return Done{};
  if (!directory) return Failure{directory.error()};
  const auto names = directory->names();
  if (!names) return Failure{names.error()};
  for (const std::string& name : *names) {
    if (!isMetadataFileOf(uid, name) || kept.contains(name)) continue;
    if (const auto removed = directory->remove(name); !removed) return Failure{removed.error()};
  }
  return Done{};
}

Result<std::vector<std::string>, ReadError> ClaimStore::uids() const {
  const auto directory = CdiDirectory::open(directory_);
  if (!directory && directory.error().error == ENOENT) return std::vector<std::string>();
  if (!directory) return Failure{toldOf(directory_, directory.error())};
  auto uids = uidsIn(*directory);
  if (!uids) return Failure{toldOf(directory_, uids.error())};
  if (uids->size() > kMostClaimSpecs) return Failure{toldOf(directory_, ReadError{EOVERFLOW})};
  return uids;
}

Result<RegularFile, ReadError> ClaimStore::open(const std::string& uid) const {
  const auto directory = CdiDirectory::open(directory_);
  if (!directory) return Failure{directory.error()};
  const std::string name = claimFileName(uid);
  auto file = directory->file(name, kLongestClaimSpec);
  if (!file && file.error().error != ENOENT) toldOf(name, file.error());
  return file;
}

}  // namespace vfiogate
