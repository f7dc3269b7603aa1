#include "privd/gate/kubelet_gate.h"

#include "privd/base/sha256.h"
#include "privd/gate/gate_answer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace vfiogate {
namespace {

constexpr size_t kMaxResources = 64;

std::optional<gate::FileIdentity> toldAt(kj::StringPtr path) {
  const auto identity = identityAt(path.cStr());
  return identity ? std::optional(told(*identity)) : std::nullopt;
}

}  // namespace

kj::String socketNameOf(const ResourceName& resource) {
  return kj::str("vfiogate-", digestOf(resource).c_str(), ".sock");
}

KubeletGate::KubeletGate(kj::StringPtr kubeletDir, const ServedNames& names)
    : names_(names),
      self_(getpid()),
      directory_(kj::str(kubeletDir, "/device-plugins")),
      podResourcesDirectory_(kj::str(kubeletDir, "/pod-resources")),
      registrationSocket_(kj::str(directory_, "/kubelet.sock")),
      podResourcesSocket_(kj::str(podResourcesDirectory_, "/kubelet.sock")),
      checkpoint_(kj::str(directory_, "/kubelet_internal_checkpoint")),
      draDirectory_(kj::str(kubeletDir, "/plugins/", names.draDriver.c_str())),
      draRegistry_(kj::str(kubeletDir, "/plugins_registry")) {}

gate::Code KubeletGate::refuse(const ResourceName& resource) {
  if (!names_.covers(resource)) return gate::Code::kForeign;
  if (served_.size() >= kMaxResources && !served_.contains(resource)) forgetUnserved();
  const bool room = served_.size() < kMaxResources || served_.contains(resource);
  return room ? gate::Code::kDone : gate::Code::kTooMany;
}

void KubeletGate::forgetUnserved() {
  std::erase_if(served_, [this](const ResourceName& resource) {
    const auto path = pathOf(resource);
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

Result<KubeletGate::Listener, SocketError> KubeletGate::listenDra(gate::Listen::Kind kind) {
  const bool service = kind == gate::Listen::Kind::kDraService;
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
  if (names_.draDriver.empty()) return false;
  const auto path = kj::str(draRegistry_, "/", registrationName());
  if (unlinkat(AT_FDCWD, path.cStr(), 0) == 0) return true;
  if (errno == ENOENT) return false;
  return Failure{ReadError{errno}};
}

kj::String KubeletGate::pathOf(const ResourceName& resource) const {
  return kj::str(directory_, "/", socketNameOf(resource));
}

kj::String KubeletGate::registrationName() const {
  return kj::str(names_.draDriver.c_str(), "-reg.sock");
}

Result<kj::AutoCloseFd, SocketError> KubeletGate::dial(gate::Dial::Socket socket) const {
  const kj::StringPtr path =
      socket == gate::Dial::Socket::kPodResources ? podResourcesSocket_ : registrationSocket_;
  // Whoever gets this connection may do what we may: a link leads it nowhere.
  const auto named = openAt(AT_FDCWD, path.cStr(), O_PATH | O_NOFOLLOW, 0);
  if (!named) return Failure{SocketError{named.error().error, "open"}};
  struct stat status = {};
  if (fstat(named->get(), &status) != 0) return Failure{SocketError{errno, "stat"}};
  if (S_ISLNK(status.st_mode)) return Failure{SocketError{ELOOP, "open"}};
  auto dialled = dialAt(kj::str("/proc/self/fd/", named->get()));
  // It has nothing to tell itself.
  if (dialled && peerOf(*dialled).pid == self_) return Failure{SocketError{ELOOP, "connect"}};
  return dialled;
}

Result<RegularFile, ReadError> KubeletGate::openCheckpoint() const {
  return openForPeer(checkpoint_.cStr(), O_NOFOLLOW);
}

gate::WatchedFiles KubeletGate::readFiles() const {
  return {.registration = toldAt(registrationSocket_),
          .podResources = toldAt(podResourcesSocket_),
          .checkpoint = toldAt(checkpoint_)};
}

std::vector<std::string> KubeletGate::watchedDirectories() const {
  return {directory_.cStr(), podResourcesDirectory_.cStr()};
}

}  // namespace vfiogate
