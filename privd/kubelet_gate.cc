#include "privd/kubelet_gate.h"

#include "ipc/types/hex.h"

#include <fcntl.h>
#include <sha2.h>

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
  std::uint8_t digest[SHA256_DIGEST_LENGTH];
  SHA2_CTX context;
  SHA256Init(&context);
  SHA256Update(&context, reinterpret_cast<const std::uint8_t*>(resource.str().data()),
               resource.str().size());
  SHA256Final(digest, &context);
  std::string digits;
  for (int i = 0; i < 8; ++i) digits += hexDigits(digest[i], 2);
  return kj::str("vfiogate-", digits.c_str(), ".sock");
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

kj::Maybe<KubeletGate::Refusal> KubeletGate::refuse(const ResourceName& resource) const {
  bool known = false;
  for (const kj::String& prefix : prefixes_) {
    known = known || resource.str().starts_with(prefix.cStr());
  }
  if (!known) return Refusal::kForeignPrefix;
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
