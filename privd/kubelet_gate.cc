#include "privd/kubelet_gate.h"

#include "privd/resource_digest.h"

#include <fcntl.h>

namespace vfiogate {
namespace {

constexpr size_t kMaxResources = 64;

std::optional<FileIdentity> identityAt(kj::StringPtr path) {
  struct stat status = {};
  if (lstat(path.cStr(), &status) != 0) return std::nullopt;
  return identityOf(status);
}

}  // namespace

kj::String socketNameOf(const ResourceName& resource) {
  return kj::str("vfiogate-", digestOf(resource).c_str(), ".sock");
}

KubeletGate::KubeletGate(kj::UnixEventPort& port, kj::Timer& timer, kj::StringPtr kubeletDir,
                         kj::Vector<kj::String> prefixes)
    : directory_(kj::str(kubeletDir, "/device-plugins")),
      podResourcesDirectory_(kj::str(kubeletDir, "/pod-resources")),
      registrationSocket_(kj::str(directory_, "/kubelet.sock")),
      podResourcesSocket_(kj::str(podResourcesDirectory_, "/kubelet.sock")),
      checkpoint_(kj::str(directory_, "/kubelet_internal_checkpoint")),
      prefixes_(kj::mv(prefixes)),
      devicePlugins_(port, timer, directory_, ""),
      podResources_(port, timer, podResourcesDirectory_, "") {}

bool KubeletGate::covers(const ResourceName& resource) const {
  for (const kj::String& prefix : prefixes_) {
    if (resource.str().starts_with(prefix.cStr())) return true;
  }
  return false;
}

kj::Maybe<KubeletGate::Refusal> KubeletGate::refuse(const ResourceName& resource) const {
  if (!covers(resource)) return Refusal::kForeignPrefix;
  if (served_.size() >= kMaxResources && !served_.contains(resource)) return Refusal::kTooMany;
  return nullptr;
}

Result<KubeletGate::Listener, SocketError> KubeletGate::listen(const ResourceName& resource) {
  auto endpoint = socketNameOf(resource);
  auto fd = listenAt(directory_, endpoint, WhoMayConnect::kOwner);
  if (!fd) return Failure{fd.error()};
  served_.insert(resource);
  return Listener{kj::mv(endpoint), kj::mv(fd).value()};
}

Result<kj::AutoCloseFd, SocketError> KubeletGate::dial(Socket socket) const {
  return dialAt(socket == Socket::kPodResources ? podResourcesSocket_ : registrationSocket_);
}

Result<RegularFile, ReadError> KubeletGate::openCheckpoint() const {
  return openForPeer(checkpoint_.cStr(), O_NOFOLLOW);
}

KubeletFiles KubeletGate::look() const {
  return {identityAt(registrationSocket_), identityAt(podResourcesSocket_),
          identityAt(checkpoint_)};
}

kj::Promise<void> KubeletGate::changedSince(std::uint64_t seen) {
  if (changes() > seen) return kj::READY_NOW;
  auto plugins = devicePlugins_.next(devicePlugins_.count());
  return plugins.exclusiveJoin(podResources_.next(podResources_.count())).ignoreResult();
}

}  // namespace vfiogate
