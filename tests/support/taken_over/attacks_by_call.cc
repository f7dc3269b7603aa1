#include "tests/support/taken_over/attacks.h"
#include "tests/support/taken_over/speaker.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <utility>
#include <vector>

namespace vfiogate::test {
namespace {

/// How long a flood lasts.
constexpr std::chrono::milliseconds kFlood{1500};

std::string listenFor(Speaker& speaker, const std::string& resource) {
  return outcomeOf([&]() {
    auto request = speaker.gate().listenRequest();
    request.setTicket(speaker.ticket());
    request.setResource(kj::StringPtr(resource.c_str(), resource.size()));
    return memberOf(speaker.await(request).getAnswer());
  });
}

std::string socketsOfOthers(Captive& captive) {
  Speaker speaker(captive);
  Tally tally;
  for (const std::string& name :
       {std::string("nvidia.com/gpu"), std::string("vfiogate.dev/../kubelet.sock"),
        std::string("../../../run/x"), std::string("/etc/passwd"), std::string("kubelet.sock"),
        std::string("vfiogate.dev/"), std::string("vfiogate.dev/a/b"), std::string(),
        std::string("vfiogate.dev/gpu\0/../x", 22), std::string("vfiogate.dev.evil.com/gpu"),
        std::string("VFIOGATE.DEV/gpu"), std::string(60'000, 'a'), std::string("a/") + "\n\x1b[2J",
        "vfiogate.dev/" + std::string(300, 'x')}) {
    tally.add(listenFor(speaker, name));
  }
  return tally.str();
}

std::string aHundredSockets(Captive& captive) {
  Speaker speaker(captive);
  Tally tally;
  std::vector<Parcel> kept;  // whose listener is closed counts no more
  for (int i = 0; i < 100; ++i) {
    tally.add(listenFor(speaker, "vfiogate.dev/x" + std::to_string(i)));
    for (Parcel& parcel : speaker.parcels()) kept.push_back(std::move(parcel));
  }
  return tally.str();
}

std::string driversOfOthers(Captive& captive) {
  Speaker speaker(captive);
  Tally tally;
  for (const char* name : {"gpu.nvidia.com", "../../pods", "vfio.vfiogate.dev/../x", "", ".",
                           "vfio.vfiogate.dev-reg.sock"}) {
    for (const auto socket : {schema::DraSocket::SERVICE, schema::DraSocket::REGISTRATION}) {
      tally.add(outcomeOf([&]() {
        auto request = speaker.gate().listenDraRequest();
        request.setTicket(speaker.ticket());
        request.setDriver(name);
        request.setSocket(socket);
        return memberOf(speaker.await(request).getAnswer());
      }));
    }
  }
  return tally.str();
}

std::string theOperatorsControl(Captive& captive) {
  Speaker speaker(captive);
  auto request = speaker.session().bindingsRequest();
  return memberOf(speaker.await(request).getAnswer());
}

std::string bindsWithoutTheRight(Captive& captive) {
  Speaker speaker(captive);
  speaker.watch();
  Tally tally;
  for (auto& [group, control] : speaker.controls) {
    auto bind = control.bindRequest();
    tally.add(outcomeOf([&]() { return memberOf(speaker.await(bind).getAnswer()); }));
    auto giveBack = control.giveBackRequest();
    tally.add(outcomeOf([&]() { return memberOf(speaker.await(giveBack).getAnswer()); }));
  }
  return tally.str();
}

std::string holdsEverything(Captive& captive) {
  Speaker speaker(captive);
  speaker.watch();
  Tally tally;
  for (auto& [group, control] : speaker.controls) {
    for (int i = 0; i < 100; ++i) {
      auto hold = control.allocateRequest();
      hold.setNote("resource=vfiogate.dev/nobody");
      tally.add(outcomeOf([&]() {
        speaker.await(hold);
        return "held";
      }));
    }
  }
  return tally.str();
}

/// The test takes the group away when it hears that it is held.
std::string aGroupThatLeft(Captive& captive) {
  constexpr std::uint32_t kLeaving = 99;
  Speaker speaker(captive);
  speaker.watch();
  auto control = speaker.controlOf(kLeaving);
  std::puts("ready: has the control of group 99");
  speaker.awaitLeft(kLeaving);
  auto reread = control.rereadRequest();
  auto bind = control.bindRequest();
  const std::string seen = outcomeOf([&]() { return memberOf(speaker.await(reread).getAnswer()); });
  return "reread " + seen + ", bind " +
         outcomeOf([&]() { return memberOf(speaker.await(bind).getAnswer()); });
}

/// Calls one after the other, read and finished as an honest peer does.
template <typename Ask>
std::string flood(Ask ask) {
  std::string first;
  unsigned count = 0;
  const auto end = std::chrono::steady_clock::now() + kFlood;
  while (std::chrono::steady_clock::now() < end) {
    const std::string outcome = outcomeOf(ask);
    if (count++ == 0) first = outcome;
    if (outcome != first) return first + ", then " + outcome;
  }
  return first + " (" + std::to_string(count) + ")";
}

std::string rereadsWithoutEnd(Captive& captive) {
  Speaker speaker(captive);
  speaker.watch();
  auto& control = speaker.controls.begin()->second;
  return flood([&]() {
    auto request = control.rereadRequest();
    return memberOf(speaker.await(request).getAnswer());
  });
}

std::string refusalsWithoutEnd(Captive& captive) {
  Speaker speaker(captive);
  return flood([&]() { return listenFor(speaker, "nvidia.com/gpu"); });
}

std::string dialsWithoutTaking(Captive& captive) {
  Speaker speaker(captive);
  Tally tally;
  for (int i = 0; i < 200; ++i) {
    auto request = speaker.gate().dialRequest();
    request.setTicket(speaker.ticket());
    tally.add(outcomeOf([&]() { return memberOf(speaker.await(request).getAnswer()); }));
  }
  const std::size_t waiting = speaker.parcels().size();
  return (waiting <= 64 ? "at most 64, tooMany (" : "more than 64 (") + std::to_string(waiting) +
         ")";
}

/// Whatever it says, over and over: the sockets are made anew, the old ones go.
std::string theSameSocketOverAndOver(Captive& captive) {
  Speaker speaker(captive);
  return flood([&]() {
    const std::string outcome = listenFor(speaker, "vfiogate.dev/again");
    speaker.parcels();
    return outcome;
  });
}

std::string reconnectsWithoutEnd(Captive& captive) {
  unsigned dialled = 0;
  const auto end = std::chrono::steady_clock::now() + 2 * kFlood;
  while (std::chrono::steady_clock::now() < end) {
    captive.next();  // and closed
    ++dialled;
  }
  return (dialled <= 10 ? "at most 10 in 3 s (" : "more than 10 in 3 s (") +
         std::to_string(dialled) + ")";
}

constexpr std::array kAttacks{
    WireAttack{"SocketsOfOthers", socketsOfOthers},
    WireAttack{"AHundredSockets", aHundredSockets},
    WireAttack{"TheSameSocketOverAndOver", theSameSocketOverAndOver},
    WireAttack{"DriversOfOthers", driversOfOthers},
    WireAttack{"TheOperatorsControl", theOperatorsControl},
    WireAttack{"BindsWithoutTheRight", bindsWithoutTheRight},
    WireAttack{"HoldsEverything", holdsEverything},
    WireAttack{"AGroupThatLeft", aGroupThatLeft},
    WireAttack{"RereadsWithoutEnd", rereadsWithoutEnd},
    WireAttack{"RefusalsWithoutEnd", refusalsWithoutEnd},
    WireAttack{"DialsWithoutTaking", dialsWithoutTaking},
    WireAttack{"ReconnectsWithoutEnd", reconnectsWithoutEnd},
};

}  // namespace

std::span<const WireAttack> attacksByCall() {
  return kAttacks;
}

}  // namespace vfiogate::test
