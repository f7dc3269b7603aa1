#include "tests/support/taken_over/attacks.h"
#include "tests/support/taken_over/binder_speaker.h"
#include "tests/support/taken_over/flood.h"
#include "tests/support/taken_over/gate_speaker.h"
#include "tests/support/taken_over/speaker.h"

#include <kj/debug.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <map>
#include <vector>

namespace vfiogate::test {
namespace {

/// The test takes the group away when it hears that it is held.
std::string aGroupThatLeft(Captive& captive) {
  constexpr std::uint32_t kLeaving = 99;
  const std::vector<Bdf> members{*Bdf::parse("0000:00:1f.0")};
  Speaker speaker(captive);
  speaker.watch();
  auto control = speaker.controlOf(kLeaving);
  GateSpeaker gate(captive);
  KJ_REQUIRE(gate.ask(gate::Allocate{members, "resource=vfiogate.dev/nobody"}) == "done");
  BinderSpeaker binder(captive);
  std::puts("ready: has the control of group 99");
  speaker.awaitLeft(kLeaving);
  auto reread = control.rereadRequest();
  const std::string seen = outcomeOf([&]() { return memberOf(speaker.await(reread).getAnswer()); });
  return "reread " + seen + ", bind " + binder.bind(members);
}

std::string rereadsWithoutEnd(Captive& captive) {
  Speaker speaker(captive);
  speaker.watch();
  auto& control = speaker.controls.begin()->second;
  return flood([&]() {
    return outcomeOf([&]() {
      auto request = control.rereadRequest();
      return memberOf(speaker.await(request).getAnswer());
    });
  });
}

/// Of each of privd's processes.
std::string reconnectsWithoutEnd(Captive& captive) {
  std::map<PrivdRole, unsigned> dialled;
  const auto end = std::chrono::steady_clock::now() + 2 * kFlood;
  while (std::chrono::steady_clock::now() < end) ++dialled[captive.hangUpOnNext()];
  unsigned most = 0;
  for (const auto& [role, count] : dialled) most = std::max(most, count);
  return (most <= 10 ? "at most 10 in 3 s of each (" : "more than 10 in 3 s (") +
         std::to_string(most) + ")";
}

constexpr std::array kAttacks{
    WireAttack{"AGroupThatLeft", aGroupThatLeft},
    WireAttack{"RereadsWithoutEnd", rereadsWithoutEnd},
    WireAttack{"ReconnectsWithoutEnd", reconnectsWithoutEnd},
};

}  // namespace

std::span<const WireAttack> attacksByCall() {
  return kAttacks;
}

}  // namespace vfiogate::test
