#include "tests/support/taken_over/attacks.h"
#include "tests/support/taken_over/flood.h"
#include "tests/support/taken_over/gate_speaker.h"
#include "tests/support/taken_over/made_up.h"

#include <kj/debug.h>

#include <array>
#include <cstdio>
#include <utility>
#include <variant>
#include <vector>

namespace vfiogate::test {
namespace {

using Kind = gate::Listen::Kind;

std::string listenFor(GateSpeaker& gate, const std::string& resource) {
  return gate.ask(gate::Listen{Kind::kResource, resource});
}

std::string resource(unsigned number) {
  return "vfiogate.dev/x" + std::to_string(number);
}

std::string socketsOfOthers(Captive& captive) {
  GateSpeaker gate(captive);
  Tally tally;
  for (const std::string& name :
       {std::string("nvidia.com/gpu"), std::string("vfiogate.dev/../kubelet.sock"),
        std::string("../../../run/x"), std::string("/etc/passwd"), std::string("kubelet.sock"),
        std::string("vfiogate.dev/"), std::string("vfiogate.dev/a/b"), std::string(),
        std::string("vfiogate.dev/gpu\0/../x", 22), std::string("vfiogate.dev.evil.com/gpu"),
        std::string("VFIOGATE.DEV/gpu"), std::string(gate::kLongestName, 'a'),
        std::string("a/") + "\n\x1b[2J", "vfiogate.dev/" + std::string(300, 'x')}) {
    tally.add(listenFor(gate, name));
  }
  return tally.str();
}

std::string driversOfOthers(Captive& captive) {
  GateSpeaker gate(captive);
  Tally tally;
  for (const char* name : {"gpu.nvidia.com", "../../pods", "vfio.vfiogate.dev/../x", "", ".",
                           "vfio.vfiogate.dev-reg.sock"}) {
    for (const Kind kind : {Kind::kDraService, Kind::kDraRegistration}) {
      tally.add(gate.ask(gate::Listen{kind, name}));
    }
  }
  return tally.str();
}

/// Serves all that it gets: whose listener is closed counts no more.
std::string asManySockets(Captive& captive, unsigned count) {
  GateSpeaker gate(captive);
  Tally tally;
  std::vector<kj::AutoCloseFd> kept;
  for (unsigned i = 0; i < count; ++i) {
    tally.add(listenFor(gate, resource(i)));
    KJ_IF_MAYBE (listener, gate.fd) kept.push_back(kj::mv(*listener));
  }
  return tally.str();
}

std::string sixtyFourSockets(Captive& captive) {
  return asManySockets(captive, 64);
}

std::string sixHundredAndFortySockets(Captive& captive) {
  return asManySockets(captive, 640);
}

/// And serves none.
std::string sixThousandFourHundredNames(Captive& captive) {
  GateSpeaker gate(captive);
  Tally tally;
  for (unsigned i = 0; i < 6400; ++i) tally.add(listenFor(gate, resource(i)));
  return tally.str();
}

/// Whatever it says, over and over: the sockets are made anew, the old ones go.
std::string theSameSocketOverAndOver(Captive& captive) {
  GateSpeaker gate(captive);
  return flood([&]() { return listenFor(gate, "vfiogate.dev/again"); });
}

std::string refusalsWithoutEnd(Captive& captive) {
  GateSpeaker gate(captive);
  return flood([&]() { return listenFor(gate, "nvidia.com/gpu"); });
}

/// The test puts a link to the socket, and then the socket, where the kubelet's was.
std::string dialsItself(Captive& captive) {
  GateSpeaker gate(captive);
  KJ_REQUIRE(listenFor(gate, "vfiogate.dev/gpu") == "done");
  const kj::AutoCloseFd listener = kj::mv(KJ_REQUIRE_NONNULL(gate.fd));
  const std::string name = std::get<gate::Endpoint>(gate.answer.outcome).path;
  KJ_REQUIRE(gate.ask(gate::Dial{}) == "done");
  Tally tally;
  for (const char* what : {"link", "socket"}) {
    const auto before = gate.files.registration;
    std::printf("ready: %s to %s\n", what, name.c_str());
    gate.awaitFiles([&before](const gate::WatchedFiles& files) {
      return files.registration && files.registration != before;
    });
    const std::string dialled = gate.ask(gate::Dial{});
    tally.add(dialled + " with " + std::to_string(gate.answer.detail));
  }
  return tally.str();
}

std::string allocatesEverything(Captive& captive) {
  GateSpeaker gate(captive);
  Tally tally;
  for (const char* address : {"0000:01:00.0", "0000:02:00.0", "0000:03:00.0", "0000:04:00.0"}) {
    for (int i = 0; i < 100; ++i) {
      tally.add(gate.ask(gate::Allocate{{*Bdf::parse(address)}, "resource=vfiogate.dev/nobody"}));
    }
  }
  return tally.str();
}

/// Each in a group of its own, with the note that plugind would write.
std::string allocatesMadeUpDevices(Captive& captive) {
  GateSpeaker gate(captive);
  Tally tally;
  for (unsigned i = 0; i < 6400; ++i) {
    tally.add(gate.ask(gate::Allocate{{madeUp(i)}, "resource=vfiogate.dev/nobody"}));
  }
  return tally.str();
}

/// As large as an allocation may be, and as many.
std::string allocatesAsMuchAsItMay(Captive& captive) {
  const std::string note(gate::kLongestNote, 'x');
  GateSpeaker gate(captive);
  unsigned taken = 0;
  for (unsigned i = 0; i < 4096; ++i) {
    if (gate.ask(gate::Allocate{{madeUp(i)}, note}) == "done") ++taken;
  }
  return std::to_string(taken) + " of 4096";
}

/// Groups of thousands, each in place of a part of the one before.
std::string allocatesLargeGroups(Captive& captive) {
  const std::string note(gate::kLongestNote, 'x');
  std::vector<UnitId> members;
  for (unsigned i = 0; i < 4096; ++i) members.push_back(madeUp(i));
  GateSpeaker gate(captive);
  Tally tally;
  for (int i = 0; i < 50; ++i) {
    tally.add(gate.ask(gate::Allocate{members, note}));
    members.pop_back();
  }
  return tally.str();
}

/// Asks for megabytes, and is answered part by part.
std::string listsWithoutEnd(Captive& captive) {
  const std::string note(gate::kLongestNote, 'x');
  GateSpeaker gate(captive);
  for (unsigned i = 0; i < 1000; ++i) {
    KJ_REQUIRE(gate.ask(gate::Allocate{{madeUp(i)}, note}) == "done");
  }
  return flood([&]() { return gate.ask(gate::List{gate::List::What::kAllocations, ""}); });
}

constexpr std::array kAttacks{
    WireAttack{"SocketsOfOthers", socketsOfOthers},
    WireAttack{"DriversOfOthers", driversOfOthers},
    WireAttack{"SixtyFourSockets", sixtyFourSockets},
    WireAttack{"SixHundredAndFortySockets", sixHundredAndFortySockets},
    WireAttack{"SixThousandFourHundredNames", sixThousandFourHundredNames},
    WireAttack{"TheSameSocketOverAndOver", theSameSocketOverAndOver},
    WireAttack{"RefusalsWithoutEnd", refusalsWithoutEnd},
    WireAttack{"DialsItself", dialsItself},
    WireAttack{"AllocatesEverything", allocatesEverything},
    WireAttack{"AllocatesMadeUpDevices", allocatesMadeUpDevices},
    WireAttack{"AllocatesAsMuchAsItMay", allocatesAsMuchAsItMay},
    WireAttack{"AllocatesLargeGroups", allocatesLargeGroups},
    WireAttack{"ListsWithoutEnd", listsWithoutEnd},
};

}  // namespace

std::span<const WireAttack> attacksOnGate() {
  return kAttacks;
}

}  // namespace vfiogate::test
