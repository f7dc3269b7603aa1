#include "tests/support/taken_over/binder_speaker.h"

#include "ipc/gate/packet_socket.h"

#include <kj/debug.h>

#include <array>
#include <variant>

namespace vfiogate::test {
namespace {

constexpr const char* kAnswer = "an answer";
constexpr const char* kNews = "news";
constexpr const char* kHungUp = "hung up";
constexpr const char* kNothing = "nothing";

std::string wordOf(binder::Answer::Outcome outcome) {
  constexpr std::array kWords{"done", "refused", "failed", "stuck", "vanished", "denied"};
  return kWords.at(static_cast<std::size_t>(outcome));
}

std::string wordOf(const binder::Probed& probed) {
  constexpr std::array kWords{"idle", "open", "cannot", "not allowed"};
  const std::string word = kWords.at(static_cast<std::size_t>(probed.found));
  return probed.error == 0 ? word : word + " " + std::to_string(probed.error);
}

std::string wordOf(const binder::SerialTold& told) {
  constexpr std::array kWords{"serial", "none", "cannot", "not allowed"};
  const std::string word = kWords.at(static_cast<std::size_t>(told.found));
  return told.error == 0 ? word : word + " " + std::to_string(told.error);
}

}  // namespace

BinderSpeaker::BinderSpeaker(Captive& captive, First first)
    : captive_(captive), channel_(captive.next(PrivdRole::kBinder)) {
  captive_.awaitReadable(channel_);
  KJ_REQUIRE(next() == kNews);
  if (first == First::kSeen) send(encode(binder::Request(binder::Seen{})));
}

std::string BinderSpeaker::bind(const std::vector<Bdf>& members) {
  return exchange(encode(binder::Request(binder::Bind{++lastNumber_, members})));
}

std::string BinderSpeaker::giveBack(const std::vector<Bdf>& members) {
  return exchange(encode(binder::Request(binder::GiveBack{++lastNumber_, members})));
}

std::string BinderSpeaker::probe(std::uint32_t group) {
  return exchange(encode(binder::Request(binder::Probe{++lastNumber_, IommuGroupId(group)})));
}

std::string BinderSpeaker::serialOf(const Bdf& device) {
  return exchange(encode(binder::Request(binder::ReadSerial{++lastNumber_, device})));
}

bool BinderSpeaker::sendBind(std::uint32_t number, const std::vector<Bdf>& members) {
  return send(encode(binder::Request(binder::Bind{number, members})));
}

std::string BinderSpeaker::exchange(std::string_view packet, int fd) {
  if (!send(packet, fd)) return kHungUp;
  while (true) {
    const std::string heard = next();
    if (heard == kAnswer) return answer;
    if (heard == kHungUp) return heard;
    if (heard == kNews) send(encode(binder::Request(binder::Seen{})));
    if (heard == kNothing) captive_.awaitReadable(channel_);
  }
}

bool BinderSpeaker::send(std::string_view packet, int fd) {
  PacketSent sent = PacketSent::kFull;
  while ((sent = sendPacket(channel_, packet, fd)) == PacketSent::kFull) {
    captive_.pause(1 * kj::MILLISECONDS);
  }
  return sent == PacketSent::kSent;
}

std::string BinderSpeaker::howItEnds(kj::Duration patience) {
  constexpr auto kPause = 5 * kj::MILLISECONDS;
  for (auto waited = 0 * kj::SECONDS; waited < patience; waited += kPause) {
    std::string heard;
    while ((heard = next()) != kNothing) {
      if (heard == kHungUp) return heard;
    }
    captive_.pause(kPause);
  }
  return "served on";
}

std::string BinderSpeaker::next() {
  auto received = receivePacket(channel_, binder::kLargestMessage);
  if (!received) return kHungUp;
  auto arrived = kj::mv(received).value();
  KJ_IF_MAYBE (packet, arrived) {
    KJ_REQUIRE(packet->fd == nullptr);
    const auto message = binder::decodeFromBinder(packet->bytes);
    KJ_REQUIRE(message.has_value(), message.error().c_str());
    if (const auto* changed = std::get_if<binder::Changed>(&message.value())) {
      told = *changed;
      return kNews;
    }
    if (const auto* probed = std::get_if<binder::Probed>(&message.value())) {
      answer = wordOf(*probed);
    } else if (const auto* serial = std::get_if<binder::SerialTold>(&message.value())) {
      answer = wordOf(*serial);
    } else {
      answer = wordOf(std::get<binder::Answer>(*message).outcome);
    }
    return kAnswer;
  }
  return kNothing;
}

}  // namespace vfiogate::test
