#include "tests/support/taken_over/gate_speaker.h"

#include "ipc/gate/packet_socket.h"

#include <kj/debug.h>

#include <array>
#include <string_view>
#include <utility>
#include <variant>

namespace vfiogate::test {
namespace {

std::string wordOf(gate::Code code) {
  constexpr std::array kWords{"done",    "failed",  "notYet", "busy",          "denied", "badName",
                              "foreign", "tooMany", "bad",    "wrongProtocol", "leased"};
  return kWords.at(static_cast<std::size_t>(code));
}

gate::FromGate messageIn(std::string_view packet) {
  auto message = gate::decodeFromGate(packet);
  KJ_REQUIRE(message.has_value(), message.error().c_str());
  return std::move(message).value();
}

}  // namespace

GateSpeaker::GateSpeaker(Captive& captive, Begins begins)
    : captive_(captive), channel_(captive.next(PrivdRole::kGate)) {
  if (begins == Begins::kEntered) enter();
}

void GateSpeaker::enter() {
  std::string entered;
  while ((entered = ask(gate::Enter{.lease = captive_.lease})) == "leased") {
    captive_.pause(20 * kj::MILLISECONDS);  // the plugind before this one is still ending
  }
  KJ_REQUIRE(entered == "done", entered.c_str());
  captive_.lease = std::get<gate::Entered>(answer.outcome).lease;
  KJ_IF_MAYBE (lock, fd) captive_.lock = kj::mv(*lock);
}

std::string GateSpeaker::ask(const gate::Request& request) {
  return exchange(encode(request));
}

std::string GateSpeaker::exchange(std::string_view packet, int withFd) {
  if (!send(packet, withFd)) return "hung up";
  while (true) {
    switch (hear()) {
      case Heard::kAnswer:
        return wordOf(answer.code);
      case Heard::kEnd:
        return "hung up";
      case Heard::kChanged:
        break;
    }
  }
}

bool GateSpeaker::send(std::string_view packet, int withFd) {
  PacketSent sent = PacketSent::kFull;
  while ((sent = sendPacket(channel_, packet, withFd)) == PacketSent::kFull) {
    captive_.pause(1 * kj::MILLISECONDS);
  }
  return sent == PacketSent::kSent;
}

std::string GateSpeaker::awaitEnd() {
  while (hear() != Heard::kEnd) {
  }
  return "hung up";
}

void GateSpeaker::awaitFiles(const std::function<bool(const gate::WatchedFiles&)>& like) {
  while (!like(files)) KJ_REQUIRE(hear() != Heard::kEnd);
}

GateSpeaker::Heard GateSpeaker::hear() {
  while (true) {
    auto received = receivePacket(channel_, gate::kLargestAnswer);
    if (!received) return Heard::kEnd;
    auto arrived = kj::mv(received).value();
    KJ_IF_MAYBE (packet, arrived) {
      const auto message = messageIn(packet->bytes);
      if (const auto* changed = std::get_if<gate::Changed>(&message)) {
        files = changed->files;
        send(encode(gate::Request(gate::Seen{})));
        return Heard::kChanged;
      }
      answer = std::get<gate::Answer>(message);
      fd = kj::mv(packet->fd);
      return Heard::kAnswer;
    }
    captive_.awaitReadable(channel_);
  }
}

}  // namespace vfiogate::test
