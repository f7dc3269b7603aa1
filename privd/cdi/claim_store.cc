#include "privd/cdi/claim_store.h"

#include "ipc/base/kube_names.h"
#include "privd/base/log_line.h"
#include "privd/cdi/cdi_spec.h"
#include "privd/cdi/device_metadata.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

namespace vfiogate {
namespace {

/// All of `hands` are in one group, as far as they are there.
bool inOneGroup(const Snapshot& hardware, const std::set<Bdf>& hands) {
  std::set<IommuGroupId> groups;
  for (const Bdf& hand : hands) {
    const auto device = hardware.devices.find(hand);
    if (device != hardware.devices.end() && device->second.group) {
      groups.insert(*device->second.group);
    }
  }
  return groups.size() <= 1;
}

ReadError told(const std::string& what, ReadError error) {
  logLine(LogEvent::kSpecFailed,
          {{"what", kj::str(what.c_str())}, {"error", kj::str(strerror(error.error))}});
  return error;
}

/// Of the claims' specs in the directory, in order.
Result<std::vector<std::string>, ReadError> claimFiles(const CdiDirectory& directory) {
  auto names = directory.names();
  if (!names) return names;
  std::vector<std::string> files = std::move(names).value();
  std::erase_if(files, [](const std::string& name) { return !isClaimFileName(name); });
  std::ranges::sort(files);
  return files;
}

}  // namespace

std::optional<ClaimFault> ClaimStore::refuse(const ClaimSpec& spec,
                                             const Snapshot& hardware) const {
  if (spec.driver != gate_.draDriver().cStr()) return "driver: not privd's --dra-driver";
  if (spec.metadata && !isPlainPath(metadataDirectory_)) {
    return "metadata: --kubelet-dir has characters that JSON would want escaped";
  }
  for (const ClaimDevice& device : spec.devices) {
    const std::string where = "device " + device.address.str();
    if (!gate_.covers(*ResourceName::parse(device.resource))) {
      return where + ": its resource is not within privd's --resource-prefix";
    }
    if (!inOneGroup(hardware, device.hands)) return where + ": its hands are of several groups";
  }
  return std::nullopt;
}

Result<std::vector<std::string>, ClaimFault> ClaimStore::write(const ClaimSpec& spec,
                                                               const Snapshot& hardware) {
  if (auto fault = refuse(spec, hardware)) return Failure{*std::move(fault)};
  std::vector<std::vector<std::string>> nodes;
  std::vector<std::string> names;
  for (const ClaimDevice& device : spec.devices) {
    nodes.push_back(nodesOnDisk(dev_, hardware, device.hands, device.backend));
    if (nodes.back().empty()) return Failure{ClaimFault(device.address)};
    names.push_back(spec.driver + "/claim=" + claimDeviceName(spec.uid, device.address));
  }
  const std::string text = claimSpecText(spec, nodes, metadataDirectory_);
  if (text.size() > kLongestClaimSpec) {
    return Failure{ClaimFault("devices: a spec of more than 64 KiB")};
  }
  auto done = admit(spec.uid);
  if (done && spec.metadata) done = putMetadata(spec);
  if (done) done = put(spec.uid, text);
  if (!done) return Failure{ClaimFault(told(claimFileName(spec.uid), done.error()))};
  return names;
}

Result<Done, ReadError> ClaimStore::putMetadata(const ClaimSpec& spec) const {
  const auto directory = CdiDirectory::open(metadataDirectory_);
  if (!directory) return Failure{directory.error()};
  std::set<std::string> names;
  for (const ClaimDevice& device : spec.devices) {
    const std::string name = metadataFileName(spec.uid, device.request);
    if (!names.insert(name).second) continue;  // another device of the request
    const auto written = directory->put(name, metadataText(spec, device.request));
    if (!written) return Failure{written.error()};
  }
  // A peer that names its requests anew each time would fill the disk.
  if (const auto done = unlinkMetadata(spec.uid, names); !done) return done;
  return directory->sync();
}

Result<Done, ReadError> ClaimStore::admit(const std::string& uid) const {
  const auto directory = CdiDirectory::open(directory_);
  if (!directory) return Failure{directory.error()};
  const auto files = claimFiles(*directory);
  if (!files) return Failure{files.error()};
  const bool known = std::ranges::binary_search(*files, claimFileName(uid));
  if (files->size() >= kMostClaimSpecs && !known) return Failure{ReadError{EDQUOT}};
  return Done{};
}

Result<Done, ReadError> ClaimStore::put(const std::string& uid, const std::string& text) {
  const auto directory = CdiDirectory::open(directory_);
  if (!directory) return Failure{directory.error()};
  const std::string name = claimFileName(uid);
  const auto written = directory->put(name, text);
  if (!written) return Failure{written.error()};
  if (*written) {
    unsynced_ = true;
    logLine(LogEvent::kSpecWritten,
            {{"claim", kj::str(uid.c_str())}, {"name", kj::str(name.c_str())}});
  }
  if (!unsynced_) return Done{};
  const auto synced = directory->sync();
  unsynced_ = !synced;
  return synced;
}

Result<Done, ReadError> ClaimStore::unlink(const std::string& uid) {
  const std::string name = claimFileName(uid);
  const auto directory = CdiDirectory::open(directory_);
  if (!directory && directory.error().error != ENOENT) {
    return Failure{told(directory_, directory.error())};
  }
  if (directory) {
    const auto begun = directory->remove(temporaryNameOf(name));  // of a privd that died meanwhile
    const auto removed = begun ? directory->remove(name) : begun;
    if (!removed) return Failure{told(name, removed.error())};
    if (*removed) logLine(LogEvent::kSpecUnlinked, {{"name", kj::str(name.c_str())}});
    // Also where it was gone: it may be since a moment, and not durably.
    if (const auto synced = directory->sync(); !synced) return Failure{told(name, synced.error())};
  }
  const auto done = unlinkMetadata(uid, {});
  if (!done) return Failure{told(metadataDirectory_, done.error())};
  return Done{};
}

Result<Done, ReadError> ClaimStore::unlinkMetadata(const std::string& uid,
                                                   const std::set<std::string>& kept) const {
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

Result<std::vector<std::string>, ReadError> ClaimStore::texts() const {
  std::vector<std::string> texts;
  const auto directory = CdiDirectory::open(directory_);
  if (!directory && directory.error().error == ENOENT) return texts;
  if (!directory) return Failure{told(directory_, directory.error())};
  const auto files = claimFiles(*directory);
  if (!files) return Failure{told(directory_, files.error())};
  if (files->size() > kMostClaimSpecs) return Failure{told(directory_, ReadError{EOVERFLOW})};
  for (const std::string& name : *files) {
    auto text = directory->read(name, kLongestClaimSpec);
    if (text) {
      texts.push_back(std::move(text).value());
      continue;
    }
    const int error = told(name, text.error()).error;
    if (error != ELOOP && error != EINVAL && error != EFBIG) return Failure{text.error()};
  }
  return texts;
}

}  // namespace vfiogate
