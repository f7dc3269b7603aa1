#include "plugind/privd/gate_client.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <utility>

namespace vfiogate {
namespace {

constexpr std::uint32_t kLargest = 1U << 20U;

using Dialled = Result<kj::AutoCloseFd, SocketRefusal>;
using Listening = Result<PluginSocket, SocketRefusal>;
using Checkpoint = Result<CheckpointFile, SocketRefusal>;
using Nanoseconds = std::chrono::sys_time<std::chrono::nanoseconds>;

/// privd makes a socket or dials at once; with the kernel's leave within 2 s.
constexpr Patience kGatePatience{10 * kj::SECONDS, "its gate failed: "};
constexpr const char* kTooMany = "privd holds 64 sockets or untaken descriptors for us already";

std::string withErrno(const char* what, std::uint16_t error) {
  return std::string(what) + ": " + strerror(error);
}

SocketRefusal refusalOf(schema::DialAnswer::Reader answer) {
  switch (answer.which()) {
    case schema::DialAnswer::ABSENT:
      return {withErrno("the kubelet is not there yet", answer.getAbsent()), true};
    case schema::DialAnswer::TOO_MANY:
      return {kTooMany};
    case schema::DialAnswer::FAILED:
      return {withErrno("privd could not dial the kubelet", answer.getFailed())};
    case schema::DialAnswer::CONNECTED:
      break;
  }
  return {"privd gave an answer to dial that is unknown here"};
}

/// `foreign`: what would mend that it is not ours to serve.
SocketRefusal refusalOf(schema::ListenAnswer::Reader answer, const char* foreign) {
  switch (answer.which()) {
    case schema::ListenAnswer::BAD_NAME:
      return {"privd does not take it for a resource name"};
    case schema::ListenAnswer::FOREIGN_PREFIX:
      return {foreign};
    case schema::ListenAnswer::TOO_MANY:
      return {kTooMany};
    case schema::ListenAnswer::FAILED:
      return {withErrno("privd could not make the plugin's socket", answer.getFailed())};
    case schema::ListenAnswer::ENDPOINT:
      break;
  }
  return {"privd gave an answer to listen that is unknown here"};
}

SocketRefusal refusalOf(schema::CheckpointAnswer::Reader answer) {
  switch (answer.which()) {
    case schema::CheckpointAnswer::ABSENT:
      return {"the kubelet has written no checkpoint yet", true};
    case schema::CheckpointAnswer::TOO_MANY:
      return {kTooMany};
    case schema::CheckpointAnswer::FAILED:
      return {withErrno("privd could not open the kubelet's checkpoint", answer.getFailed())};
    case schema::CheckpointAnswer::FILE:
      break;
  }
  return {"privd gave an answer to checkpoint that is unknown here"};
}

/// The listener that comes beside the answer to `listen` or `listenDra`.
template <typename Answered>
kj::Promise<Listening> listenerFrom(Answered answered, kj::Promise<kj::AutoCloseFd> fd,
                                    const char* foreign) {
  return answered.then([fd = kj::mv(fd), foreign](auto response) mutable -> kj::Promise<Listening> {
    const auto answer = response.getAnswer();
    if (!answer.isEndpoint()) return Listening(Failure{refusalOf(answer, foreign)});
    return fd.then([endpoint = std::string(answer.getEndpoint())](kj::AutoCloseFd arrived) mutable {
      return Listening(PluginSocket{kj::mv(arrived), std::move(endpoint)});
    });
  });
}

Nanoseconds timeOf(std::int64_t nanoseconds) {
  return Nanoseconds(std::chrono::nanoseconds(nanoseconds));
}

}  // namespace

KubeletIdentity identityOf(schema::FileIdentity::Reader identity) {
  return {identity.getInode(), timeOf(identity.getChanged())};
}

GateClient::GateClient(schema::KubeletGate::Client gate,
                       std::shared_ptr<DescriptorReceiver> descriptors, SessionCalls& calls)
    : gate_(kj::mv(gate)), descriptors_(std::move(descriptors)), calls_(calls) {}

GateClient::Expected GateClient::expect(DescriptorKind kind) {
  const auto ticket = ++lastTicket_;
  auto fd =
      descriptors_->await(ticket, kind).attach(kj::defer([descriptors = descriptors_, ticket]() {
        descriptors->forget(ticket);
      }));
  return {ticket, kj::mv(fd)};
}

kj::Promise<Dialled> GateClient::dialKubelet() {
  return dial(schema::KubeletSocket::REGISTRATION);
}

kj::Promise<Dialled> GateClient::dialPodResources() {
  return dial(schema::KubeletSocket::POD_RESOURCES);
}

kj::Promise<Dialled> GateClient::dial(schema::KubeletSocket socket) {
  return calls_.passWithin(kGatePatience, [this, socket]() {
    auto expected = expect(DescriptorKind::kConnection);
    auto request = gate_.dialRequest();
    request.setTicket(expected.ticket);
    request.setSocket(socket);
    return request.send().then(
        [fd = kj::mv(expected.fd)](
            capnp::Response<schema::KubeletGate::DialResults> response) mutable
        -> kj::Promise<Dialled> {
          const auto answer = response.getAnswer();
          if (!answer.isConnected()) return Dialled(Failure{refusalOf(answer)});
          return fd.then([](kj::AutoCloseFd arrived) { return Dialled(kj::mv(arrived)); });
        });
  });
}

kj::Promise<Listening> GateClient::listenFor(const ResourceName& resource) {
  return calls_.passWithin(kGatePatience, [this, name = resource.str()]() {
    auto expected = expect(DescriptorKind::kListener);
    auto request = gate_.listenRequest();
    request.setTicket(expected.ticket);
    request.setResource(name);
    return listenerFrom(request.send(), kj::mv(expected.fd),
                        "its prefix is not among privd's --resource-prefix: add it there");
  });
}

kj::Promise<Listening> GateClient::listenForDra(const std::string& driver, DraSocket socket) {
  return calls_.passWithin(kGatePatience, [this, driver, socket]() {
    auto expected = expect(DescriptorKind::kListener);
    auto request = gate_.listenDraRequest();
    request.setTicket(expected.ticket);
    request.setDriver(driver);
    request.setSocket(socket == DraSocket::kService ? schema::DraSocket::SERVICE
                                                    : schema::DraSocket::REGISTRATION);
    return listenerFrom(request.send(), kj::mv(expected.fd),
                        "it is not the DRA driver that privd was started for: name it with privd's "
                        "--dra-driver");
  });
}

kj::Promise<Checkpoint> GateClient::checkpoint() {
  return calls_.passWithin(kGatePatience, [this]() {
    auto expected = expect(DescriptorKind::kFile);
    auto request = gate_.checkpointRequest();
    request.setTicket(expected.ticket);
    return request.send().then(
        [fd = kj::mv(expected.fd)](
            capnp::Response<schema::KubeletGate::CheckpointResults> response) mutable
        -> kj::Promise<Checkpoint> {
          const auto answer = response.getAnswer();
          if (!answer.isFile()) return Checkpoint(Failure{refusalOf(answer)});
          return fd.then([response = kj::mv(response)](kj::AutoCloseFd arrived) mutable {
            const auto told = response.getAnswer().getFile();
            auto text = readPosted(arrived.get(), told.getSize());
            if (!text) return Checkpoint(Failure{SocketRefusal{text.error()}});
            CheckpointFile file{std::move(text).value(), timeOf(told.getWritten()), {}};
            if (told.hasKubelet()) file.kubelet = identityOf(told.getKubelet());
            return Checkpoint(std::move(file));
          });
        });
  });
}

kj::Promise<void> GateClient::watch(schema::KubeletObserver::Client observer) {
  auto request = gate_.watchRequest();
  request.setObserver(kj::mv(observer));
  return request.send().ignoreResult();
}

Result<std::string, std::string> readPosted(int fd, std::uint32_t size) {
  if (size > kLargest) return Failure{std::string("the file is above 1 MiB")};
  std::string text(size, '\0');
  for (std::size_t filled = 0; filled < size;) {
    const ssize_t got = read(fd, text.data() + filled, size - filled);
    if (got < 0) return Failure{std::string("read: ") + strerror(errno)};
    if (got == 0) return Failure{std::string("the file is shorter than privd says")};
    filled += static_cast<std::size_t>(got);
  }
  return text;
}

}  // namespace vfiogate
