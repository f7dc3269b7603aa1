#include "privd/kubelet_gate.h"

#include "ipc/types/hex.h"

#include <sha2.h>

namespace vfiogate {
namespace {

constexpr kj::StringPtr kRegistrationSocket = "kubelet.sock"_kj;
constexpr size_t kMaxResources = 64;

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
      prefixes_(kj::mv(prefixes)),
      registrationSocket_(port, timer, directory_, kRegistrationSocket) {}

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

Result<kj::AutoCloseFd, SocketError> KubeletGate::dial() const {
  return dialAt(kj::str(directory_, "/", kRegistrationSocket));
}

}  // namespace vfiogate
