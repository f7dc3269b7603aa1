#include "ipc/gate/gate_requests.h"
#include "ipc/gate/packet_fields.h"
#include "tests/support/taken_over/attacks.h"
#include "tests/support/taken_over/binder_speaker.h"
#include "tests/support/taken_over/made_up.h"

#include <sys/eventfd.h>

#include <array>
#include <random>
#include <string>
#include <vector>

namespace vfiogate::test {
namespace {

using First = BinderSpeaker::First;
using Members = std::vector<Bdf>;

std::string orderFor(const Members& members) {
  return encode(binder::Request(binder::Bind{1, members}));
}

std::string probeOf(std::uint32_t number, std::uint32_t group) {
  return encode(binder::Request(binder::Probe{number, IommuGroupId(group)}));
}

/// Of different groups, none of which is answered: what was told first is not seen yet.
std::string nineAtOnce(Captive& captive) {
  BinderSpeaker binder(captive, First::kUnseen);
  for (unsigned i = 0; i < binder::kMostInFlight; ++i) binder.sendBind(i, {madeUp(i)});
  captive.pause(200 * kj::MILLISECONDS);
  const std::string eight = binder.next();
  binder.sendBind(binder::kMostInFlight, {madeUp(binder::kMostInFlight)});
  return "after eight " + eight + ", then " + binder.howItEnds();
}

std::string twoForOneGroup(Captive& captive) {
  Tally tally;
  {
    BinderSpeaker binder(captive, First::kUnseen);
    binder.sendBind(1, {madeUp(0)});
    binder.sendBind(2, {madeUp(0)});
    tally.add(binder.howItEnds());
  }
  {
    BinderSpeaker binder(captive, First::kUnseen);
    binder.sendBind(1, {madeUp(0), madeUp(1)});
    binder.sendBind(2, {madeUp(1), madeUp(2)});
    tally.add(binder.howItEnds());
  }
  BinderSpeaker binder(captive, First::kUnseen);
  binder.sendBind(1, {madeUp(0)});
  binder.sendBind(1, {madeUp(1)});  // the number of another
  tally.add(binder.howItEnds());
  BinderSpeaker prober(captive, First::kUnseen);
  prober.send(probeOf(1, 4711));
  prober.send(probeOf(2, 4711));
  tally.add(prober.howItEnds());
  return tally.str();
}

std::string halfOrders(Captive& captive) {
  Tally tally;
  for (const binder::Request& request :
       {binder::Request(binder::Bind{1, {madeUp(0)}}),
        binder::Request(binder::GiveBack{1, {madeUp(0), madeUp(1)}}),
        binder::Request(binder::Probe{1, IommuGroupId(7)}),
        binder::Request(binder::ReadSerial{1, madeUp(0)})}) {
    const std::string whole = encode(request);
    for (const std::size_t size : {std::size_t{1}, whole.size() - 1}) {
      BinderSpeaker binder(captive);
      tally.add(binder.exchange(whole.substr(0, size)));
    }
  }
  return tally.str();
}

/// A channel that says nothing, then half of something, and nothing more.
std::string halfAnOrderAndSilence(Captive& captive) {
  std::string got;
  {
    BinderSpeaker silent(captive, First::kUnseen);
    captive.pause(1500 * kj::MILLISECONDS);
    got = silent.send("\1\1") ? "heard, " + silent.howItEnds() : "not heard";
  }
  BinderSpeaker next(captive);
  return got + ", the next one " + next.giveBack({madeUp(0)});
}

std::string ordersThatAreNone(Captive& captive) {
  std::string garbage(4096, '\0');
  std::mt19937 random(4711);  // always the same garbage
  for (char& byte : garbage) byte = static_cast<char>(random());
  Members tooMany;
  for (unsigned i = 0; i <= binder::kMostMembers; ++i) tooMany.push_back(madeUp(i));
  PacketWriter answer;  // what only the binder says
  answer.number(static_cast<std::uint8_t>(binder::kRequests + 1));
  answer.number(std::uint32_t{1});
  Tally tally;
  for (const std::string& packet :
       {std::string(1, '\0'), answer.take(), garbage, orderFor({madeUp(0)}) + "x", orderFor({}),
        orderFor({madeUp(1), madeUp(0)}), orderFor(tooMany), probeOf(1, binder::kMostGroups),
        probeOf(1, 0xffffffffU), probeOf(1, 7) + "x",
        std::string(binder::kLargestRequest + 1, '\1')}) {
    BinderSpeaker binder(captive);
    tally.add(binder.exchange(packet));
  }
  return tally.str();
}

std::string asksTheBinderForWhatTheGateHas(Captive& captive) {
  Tally tally;
  for (const gate::Request& request :
       {gate::Request(gate::Enter{}), gate::Request(gate::Adopted{}), gate::Request(gate::Dial{}),
        gate::Request(gate::Allocate{{madeUp(0)}, "resource=x"}), gate::Request(gate::List{})}) {
    BinderSpeaker binder(captive);
    tally.add(binder.exchange(encode(request)));
  }
  return tally.str();
}

std::string handsDescriptorsToTheBinder(Captive& captive) {
  const kj::AutoCloseFd gift(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  Tally tally;
  for (int i = 0; i < 4; ++i) {
    BinderSpeaker binder(captive);
    tally.add(binder.exchange(orderFor({madeUp(0)}), gift));
  }
  return tally.str();
}

std::string hasSeenWhatTheBinderDidNotTell(Captive& captive) {
  BinderSpeaker binder(captive);
  const std::string seen = encode(binder::Request(binder::Seen{}));
  while (binder.send(seen)) {
  }
  return binder.howItEnds();
}

/// Nothing more comes on the channel, and when it has seen it all comes at once.
std::string neverSaysThatItHasSeen(Captive& captive) {
  BinderSpeaker binder(captive, First::kUnseen);
  binder.sendBind(1, {madeUp(0)});
  captive.pause(2 * kj::SECONDS);
  const std::string before = binder.next();
  binder.send(encode(binder::Request(binder::Seen{})));
  captive.pause(200 * kj::MILLISECONDS);
  return before + ", and then " + binder.next();
}

/// Asks, and takes no answer.
std::string takesNoAnswer(Captive& captive) {
  BinderSpeaker binder(captive);
  std::uint32_t number = 1;
  while (binder.sendBind(number, {madeUp(number % 4096)})) ++number;
  return binder.howItEnds();
}

constexpr std::array kAttacks{
    WireAttack{"NineAtOnce", nineAtOnce},
    WireAttack{"TwoForOneGroup", twoForOneGroup},
    WireAttack{"HalfOrders", halfOrders},
    WireAttack{"HalfAnOrderAndSilence", halfAnOrderAndSilence},
    WireAttack{"OrdersThatAreNone", ordersThatAreNone},
    WireAttack{"AsksTheBinderForWhatTheGateHas", asksTheBinderForWhatTheGateHas},
    WireAttack{"HandsDescriptorsToTheBinder", handsDescriptorsToTheBinder},
    WireAttack{"HasSeenWhatTheBinderDidNotTell", hasSeenWhatTheBinderDidNotTell},
    WireAttack{"NeverSaysThatItHasSeen", neverSaysThatItHasSeen},
    WireAttack{"TakesNoAnswer", takesNoAnswer},
};

}  // namespace

std::span<const WireAttack> attacksByOrder() {
  return kAttacks;
}

}  // namespace vfiogate::test
