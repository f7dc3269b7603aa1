#include "plugind/self_test/played_roles.h"

#include "ipc/gate/packet_socket.h"
#include "ipc/socket/unix_socket.h"

#include <algorithm>
#include <cerrno>
#include <utility>
#include <variant>

namespace vfiogate {
namespace {

/// Both sockets of the kubelet's are there, and nothing that it wrote.
gate::WatchedFiles filesOfAFreshNode() {
  gate::WatchedFiles files;
  files.registration = gate::FileIdentity{1, 1};
  files.podResources = gate::FileIdentity{2, 1};
  return files;
}

gate::Answer listed(gate::List::What what) {
  gate::Answer answer;
  switch (what) {
    case gate::List::What::kClaimSpecs:
      answer.outcome = gate::ClaimUids{};
      break;
    case gate::List::What::kAllocations:
      answer.outcome = gate::Allocations{};
      break;
    case gate::List::What::kExclusions:
      answer.outcome = gate::Exclusions{};
      break;
  }
  return answer;
}

gate::Answer refused(gate::Code code, int error) {
  gate::Answer answer;
  answer.code = code;
  answer.detail = static_cast<std::uint16_t>(error);
  return answer;
}

}  // namespace

PlayedGate::PlayedGate(kj::UnixEventPort& port, kj::AutoCloseFd channel,
                       const ScratchPlaces& places)
    : places_(places),
      channel_(kj::mv(channel)),
      readable_(port, channel_.get(), kj::UnixEventPort::FdObserver::OBSERVE_READ) {}

kj::Promise<void> PlayedGate::serve() {
  for (;;) {
    auto received = receivePacket(channel_, gate::kLargestRequest);
    if (!received) return kj::READY_NOW;
    auto arrived = kj::mv(received).value();
    KJ_IF_MAYBE (packet, arrived) {
      const auto request = gate::decodeRequest(packet->bytes);
      if (!request) return kj::READY_NOW;
      answer(*request);
    } else {
      return readable_.whenBecomesReadable().then([this]() { return serve(); });
    }
  }
}

void PlayedGate::answer(const gate::Request& request) {
  if (std::holds_alternative<gate::Seen>(request)) return;
  Reply reply = replyTo(request);
  int fd = -1;
  KJ_IF_MAYBE (open, reply.fd) fd = open->get();
  sendPacket(channel_, encode(gate::FromGate(reply.answer)), fd);
  if (!std::holds_alternative<gate::Enter>(request)) return;
  sendPacket(channel_, encode(gate::FromGate(gate::Changed{filesOfAFreshNode()})));
}

PlayedGate::Reply PlayedGate::replyTo(const gate::Request& request) const {
  if (const auto* enter = std::get_if<gate::Enter>(&request)) {
    gate::Answer answer;
    answer.outcome = gate::Entered{.lease = enter->lease, .complete = false};
    return {answer, nullptr};
  }
  if (const auto* listen = std::get_if<gate::Listen>(&request)) return listening(*listen);
  if (const auto* dial = std::get_if<gate::Dial>(&request)) return dialled(*dial);
  if (const auto* list = std::get_if<gate::List>(&request)) return {listed(list->what), nullptr};
  if (std::holds_alternative<gate::Open>(request)) {
    return {refused(gate::Code::kNotYet, ENOENT), nullptr};
  }
  return {};
}

PlayedGate::Reply PlayedGate::listening(const gate::Listen& request) const {
  std::string name = "listen-" + std::to_string(static_cast<int>(request.kind)) + request.name;
  std::ranges::replace(name, '/', '_');
  auto made = listenAt(places_.directory.c_str(), name.c_str(), WhoMayConnect::kOwner);
  if (!made) return {refused(gate::Code::kFailed, made.error().error), nullptr};
  gate::Answer answer;
  const bool whole = request.kind != gate::Listen::Kind::kResource;
  answer.outcome = gate::Endpoint{whole ? places_.directory + "/" + name : name};
  return {answer, kj::mv(made).value()};
}

PlayedGate::Reply PlayedGate::dialled(const gate::Dial& request) const {
  const bool pods = request.socket == gate::Dial::Socket::kPodResources;
  auto made = dialAt((pods ? places_.podResources() : places_.registration()).c_str());
  if (!made) return {refused(gate::Code::kNotYet, made.error().error), nullptr};
  return {{}, kj::mv(made).value()};
}

}  // namespace vfiogate
