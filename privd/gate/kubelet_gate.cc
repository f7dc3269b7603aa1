#include "privd/gate/kubelet_gate.h"

#include "privd/base/sha256.h"

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
                         kj::Vector<kj::String> prefixes, kj::StringPtr draDriver,
                         kj::StringPtr ownSocket)
    : directory_(kj::str(kubeletDir, "/device-plugins")),
      podResourcesDirectory_(kj::str(kubeletDir, "/pod-resources")),
      registrationSocket_(kj::str(directory_, "/kubelet.sock")),
      podResourcesSocket_(kj::str(podResourcesDirectory_, "/kubelet.sock")),
      checkpoint_(kj::str(directory_, "/kubelet_internal_checkpoint")),
      prefixes_(kj::mv(prefixes)),
      draDriver_(kj::str(draDriver)),
      draDirectory_(kj::str(kubeletDir, "/plugins/", draDriver)),
      draRegistry_(kj::str(kubeletDir, "/plugins_registry")),
      ownSocket_(kj::str(ownSocket)),
      devicePlugins_(port, timer, directory_, ""),
      podResources_(port, timer, podResourcesDirectory_, "") {}

bool KubeletGate::covers(const ResourceName& resource) const {
  for (const kj::String& prefix : prefixes_) {
    if (resource.str().starts_with(prefix.cStr())) return true;
  }
  return false;
}

kj::Maybe<KubeletGate::Refusal> KubeletGate::refuse(const ResourceName& resource) {
  if (!covers(resource)) return Refusal::kForeignPrefix;
  if (served_.size() < kMaxResources || served_.contains(resource)) return nullptr;
  forgetUnserved();
  return served_.size() < kMaxResources ? nullptr : kj::Maybe<Refusal>(Refusal::kTooMany);
}

void KubeletGate::forgetUnserved() {
  std::erase_if(served_, [this](const ResourceName& resource) {
    const auto path = kj::str(directory_, "/", socketNameOf(resource));
    const auto dialled = dialAt(path);
    const int error = dialled ? 0 : dialled.error().error;
    if (error == ECONNREFUSED) unlinkat(AT_FDCWD, path.cStr(), 0);
    return error == ECONNREFUSED || error == ENOENT;
  });
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
  // The kubelet looks at every name that appears in its registry, before it asks whether it begins
  // with a dot.
  auto fd = service ? listenAt(directory, name, WhoMayConnect::kOwner)
                    : listenInPlace(directory, name, WhoMayConnect::kOwner);
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
  const kj::StringPtr path =
      socket == Socket::kPodResources ? podResourcesSocket_ : registrationSocket_;
  // Whoever gets this connection may do what we may: a link leads it nowhere, and no name to us.
  const auto named = openAt(AT_FDCWD, path.cStr(), O_PATH | O_NOFOLLOW, 0);
  if (!named) return Failure{SocketError{named.error().error, "open"}};
  struct stat status = {};
  if (fstat(named->get(), &status) != 0) return Failure{SocketError{errno, "stat"}};
  if (S_ISLNK(status.st_mode)) return Failure{SocketError{ELOOP, "open"}};
  struct stat own = {};
  const bool ours = stat(ownSocket_.cStr(), &own) == 0 && own.st_dev == status.st_dev &&
                    own.st_ino == status.st_ino;
  if (ours) return Failure{SocketError{ELOOP, "open"}};
  return dialAt(kj::str("/proc/self/fd/", named->get()));
}

Result<RegularFile, ReadError> KubeletGate::openCheckpoint() const {
  return openForPeer(checkpoint_.cStr(), O_NOFOLLOW);
}

KubeletFiles KubeletGate::readFiles() const {
  return {identityAt(registrationSocket_), identityAt(podResourcesSocket_),
          identityAt(checkpoint_)};
}

kj::Promise<void> KubeletGate::changedSince(std::uint64_t seen) {
  if (changes() > seen) return kj::READY_NOW;
  auto plugins = devicePlugins_.next(devicePlugins_.count());
  return plugins.exclusiveJoin(podResources_.next(podResources_.count())).ignoreResult();
}

}  // namespace vfiogate
