#include "privd/kubelet_gate.h"

#include "ipc/types/hex.h"

#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <fcntl.h>
#include <sha2.h>
#include <unistd.h>

#include <cerrno>

namespace vfiogate {
namespace {

constexpr kj::StringPtr kKubeletSocket = "kubelet.sock"_kj;
constexpr kj::StringPtr kCheckpoint = "kubelet_internal_checkpoint"_kj;
constexpr off_t kLongestCheckpoint = 1 << 20;
constexpr size_t kMaxResources = 64;

std::int64_t nanoseconds(const timespec& time) {
  return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
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
      podResources_(kj::str(kubeletDir, "/pod-resources")),
      prefixes_(kj::mv(prefixes)),
      registrationSocket_(port, timer, directory_, kKubeletSocket),
      podResourcesSocket_(port, timer, podResources_, kKubeletSocket),
      checkpointFile_(port, timer, directory_, kCheckpoint) {}

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
  const auto& directory = socket == Socket::kRegistration ? directory_ : podResources_;
  return dialAt(kj::str(directory, "/", kKubeletSocket));
}

Result<KubeletGate::Checkpoint, int> KubeletGate::checkpoint() const {
  open_how how = {};
  how.flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  const auto path = kj::str(directory_, "/", kCheckpoint);
  kj::AutoCloseFd fd(
      static_cast<int>(syscall(SYS_openat2, AT_FDCWD, path.cStr(), &how, sizeof how)));
  struct stat status = {};
  if (fd.get() < 0 || fstat(fd, &status) != 0) return Failure{errno};
  if (!S_ISREG(status.st_mode) || status.st_size > kLongestCheckpoint) return Failure{EFBIG};
  return Checkpoint{kj::mv(fd), nanoseconds(status.st_mtim)};
}

kj::Maybe<KubeletGate::Identity> KubeletGate::kubelet() const {
  struct stat status = {};
  const auto path = kj::str(directory_, "/", kKubeletSocket);
  if (lstat(path.cStr(), &status) != 0) return nullptr;
  return Identity{status.st_ino, nanoseconds(status.st_ctim)};
}

}  // namespace vfiogate
