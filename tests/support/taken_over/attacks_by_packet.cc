#include "ipc/gate/packet_fields.h"
#include "tests/support/taken_over/attacks.h"
#include "tests/support/taken_over/gate_speaker.h"

#include <sys/eventfd.h>

#include <array>
#include <random>
#include <vector>

namespace vfiogate::test {
namespace {

using Begins = GateSpeaker::Begins;

/// One of each kind that has fields.
std::vector<gate::Request> requests() {
  const std::vector<UnitId> members{*Bdf::parse("0000:02:00.0")};
  const SpecNodes nodes{{SpecNode::Kind::kContainer, 0}, {SpecNode::Kind::kGroup, 8}};
  return {gate::Enter{},
          gate::Listen{.name = "vfiogate.dev/gpu"},
          gate::Dial{},
          gate::Open{},
          gate::Allocate{members, "resource=vfiogate.dev/gpu"},
          gate::Release{members},
          gate::Put{StaticSpecText{"vfiogate.dev/gpu", {nodes}, {{members.front(), 0}}}},
          gate::Remove{.uid = "c7e7b22e-239b-4498-b27c-7f1344481e14"},
          gate::List{}};
}

std::string halfPackets(Captive& captive) {
  Tally tally;
  for (const gate::Request& request : requests()) {
    const std::string whole = encode(request);
    GateSpeaker gate(captive);
    tally.add(gate.exchange(whole.substr(0, (whole.size() + 1) / 2)));
  }
  return tally.str();
}

std::string packetsThatAreNone(Captive& captive) {
  std::string garbage(4096, '\0');
  std::mt19937 random(4711);  // always the same garbage
  for (char& byte : garbage) byte = static_cast<char>(random());
  PacketWriter choice;  // of a socket that there is not
  choice.number(static_cast<std::uint8_t>(5));
  choice.number(static_cast<std::uint8_t>(2));
  Tally tally;
  for (const std::string& packet :
       {std::string(1, '\0'), std::string(1, static_cast<char>(gate::kRequests + 1)), garbage,
        encode(gate::Request(gate::Dial{})) + "x", choice.take(),
        encode(gate::Request(gate::Listen{.name = std::string(gate::kLongestName + 1, 'a')})),
        std::string(gate::kLargestRequest + 1, '\1')}) {
    GateSpeaker gate(captive);
    tally.add(gate.exchange(packet));
  }
  return tally.str();
}

std::string asksBeforeItHasEntered(Captive& captive) {
  Tally tally;
  for (const gate::Request& request : requests()) {
    if (std::holds_alternative<gate::Enter>(request)) continue;
    GateSpeaker gate(captive, Begins::kStrange);
    tally.add(gate.ask(request));
  }
  return tally.str();
}

/// A channel that says nothing, then half of something, and nothing more.
std::string halfAPacketAndSilence(Captive& captive) {
  std::string got;
  {
    GateSpeaker silent(captive, Begins::kStrange);
    captive.pause(1500 * kj::MILLISECONDS);
    got = silent.send("\1\1") ? "heard, " + silent.awaitEnd() : "not heard";
  }
  GateSpeaker next(captive);
  return got + ", the next one " + next.ask(gate::List{});
}

std::string handsDescriptorsToTheGate(Captive& captive) {
  const kj::AutoCloseFd gift(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  Tally tally;
  for (int i = 0; i < 4; ++i) {
    GateSpeaker gate(captive);
    tally.add(gate.exchange(encode(gate::Request(gate::List{})), gift));
  }
  return tally.str();
}

std::string hasSeenWhatItWasNotTold(Captive& captive) {
  GateSpeaker gate(captive);
  const std::string seen = encode(gate::Request(gate::Seen{}));
  while (gate.send(seen)) {
  }
  return gate.awaitEnd();
}

/// Asks for connections and takes none of them.
std::string dialsWithoutTaking(Captive& captive) {
  GateSpeaker gate(captive);
  const std::string dial = encode(gate::Request(gate::Dial{}));
  while (gate.send(dial)) {
  }
  return gate.awaitEnd();
}

constexpr std::array kAttacks{
    WireAttack{"HalfPackets", halfPackets},
    WireAttack{"HalfAPacketAndSilence", halfAPacketAndSilence},
    WireAttack{"PacketsThatAreNone", packetsThatAreNone},
    WireAttack{"AsksBeforeItHasEntered", asksBeforeItHasEntered},
    WireAttack{"HandsDescriptorsToTheGate", handsDescriptorsToTheGate},
    WireAttack{"HasSeenWhatItWasNotTold", hasSeenWhatItWasNotTold},
    WireAttack{"DialsWithoutTaking", dialsWithoutTaking},
};

}  // namespace

std::span<const WireAttack> attacksByPacket() {
  return kAttacks;
}

}  // namespace vfiogate::test
