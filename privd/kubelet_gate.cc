#include "privd/kubelet_gate.h"

#include "privd/resource_digest.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

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
                         kj::Vector<kj::String> prefixes, kj::StringPtr draDriver)
    : directory_(kj::str(kubeletDir, "/device-plugins")),
      podResourcesDirectory_(kj::str(kubeletDir, "/pod-resources")),
      registrationSocket_(kj::str(directory_, "/kubelet.sock")),
      podResourcesSocket_(kj::str(podResourcesDirectory_, "/kubelet.sock")),
      checkpoint_(kj::str(directory_, "/kubelet_internal_checkpoint")),
      prefixes_(kj::mv(prefixes)),
      draDriver_(kj::str(draDriver)),
      draDirectory_(kj::str(kubeletDir, "/plugins/", draDriver)),
      draRegistry_(kj::str(kubeletDir, "/plugins_registry")),
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

Result<KubeletGate::Listener, SocketError> KubeletGate::listenDra(DraSocket socket) const {
  const bool service = socket == DraSocket::kService;
  const kj::StringPtr directory = service ? draDirectory_ : draRegistry_;
  const auto name = service ? kj::str("dra.sock") : registrationName();
  auto fd = listenAt(directory, name, WhoMayConnect::kOwner);
  if (!fd) return Failure{fd.error()};
  return Listener{kj::str(directory, "/", name), kj::mv(fd).value()};
}

Result<bool, ReadError> KubeletGate::withdrawDra() const {
  if (draDriver_.size() == 0) return false;
  const auto path = kj::str(draRegistry_, "/", registrationName());
  if (unlinkat(AT_FDCWD, path.cStr(), 0) == 0) return true;
  if (errno == ENOENT) return false;
  return Failure{ReadError{errno}};
}

kj::String KubeletGate::registrationName() const {
  return kj::str(draDriver_, "-reg.sock");
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
