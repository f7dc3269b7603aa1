#include "privd/gate/gate_channel.h"

#include "privd/base/log_line.h"

#include <cerrno>
#include <utility>
#include <variant>

namespace vfiogate {
namespace {

constexpr auto kPause = std::chrono::milliseconds(50);
/// Any process of root's can make the kernel say ETOOMANYREFS for a while.
constexpr auto kPatience = std::chrono::seconds(2);

}  // namespace

std::optional<GateChannel::Clock::time_point> GateChannel::due() const {
  return waiting_ ? std::optional(waiting_->due) : std::nullopt;
}

GateChannel::Reason GateChannel::receive(Clock::time_point now) {
  auto received = receivePacket(socket_, gate::kLargestRequest);
  if (!received) return received.error();
  auto arrived = kj::mv(received).value();
  KJ_IF_MAYBE (packet, arrived) {
    if (packet->fd != nullptr) return "sent a descriptor";
    const auto request = gate::decodeRequest(packet->bytes);
    if (!request) return "a request with " + request.error();
    return serve(*request, now);
  }
  return std::nullopt;
}

GateChannel::Reason GateChannel::serve(const gate::Request& request, Clock::time_point now) {
  if (!session_.entered && !std::holds_alternative<gate::Enter>(request)) {
    return "asked before it had entered";
  }
  const bool isSeen = std::holds_alternative<gate::Seen>(request);
  if (isSeen && !session_.awaitsSeen) return "has seen what it was not told";
  GateAnswer answer = service_.answer(session_, request);
  return isSeen ? tellFiles() : send(kj::mv(answer), now, now);
}

GateChannel::Reason GateChannel::sendAgain(Clock::time_point now) {
  if (!waiting_ || now < waiting_->due) return std::nullopt;
  Waiting waiting = *kj::mv(waiting_);
  waiting_.reset();
  if (now - waiting.since < kPatience) return send(kj::mv(waiting.answer), waiting.since, now);
  logLine(LogEvent::kDescriptorNotSent,
          {{"reason", "the kernel says too many references for 2 s"}});
  return send(refused(gate::Code::kFailed, ETOOMANYREFS), now, now);
}

GateChannel::Reason GateChannel::send(GateAnswer answer, Clock::time_point since,
                                      Clock::time_point now) {
  const bool enters = std::holds_alternative<gate::Entered>(answer.answer.outcome);
  switch (sendPacket(socket_, encode(gate::FromGate(answer.answer)),
                     answer.fd ? answer.fd->get() : -1)) {
    case PacketSent::kSent:
      break;
    case PacketSent::kFull:
      return "does not take its answers";
    case PacketSent::kTooManyRefs:
      waiting_ = Waiting{kj::mv(answer), since, now + kPause};
      return std::nullopt;
    case PacketSent::kGone:
      return std::string(kPeerLeft);
  }
  if (!enters) return std::nullopt;
  session_.entered = true;
  return tellFiles();
}

GateChannel::Reason GateChannel::tellFiles() {
  if (!session_.entered || session_.awaitsSeen) return std::nullopt;
  const gate::WatchedFiles now = service_.files();
  if (told_ == now) return std::nullopt;
  if (told_ && now.registration && told_->registration != now.registration) {
    logLine(LogEvent::kKubeletAppeared);
  }
  told_ = now;
  session_.awaitsSeen = true;
  switch (sendPacket(socket_, encode(gate::FromGate(gate::Changed{now})))) {
    case PacketSent::kSent:
      return std::nullopt;
    case PacketSent::kGone:
      return std::string(kPeerLeft);
    case PacketSent::kFull:
    case PacketSent::kTooManyRefs:
      break;
  }
  return "does not take what it is told";
}

}  // namespace vfiogate
