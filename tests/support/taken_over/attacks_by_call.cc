#include "tests/support/taken_over/attacks.h"
#include "tests/support/taken_over/flood.h"
#include "tests/support/taken_over/speaker.h"

#include <array>
#include <chrono>
#include <cstdio>

namespace vfiogate::test {
namespace {

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
    WireAttack{"BindsWithoutTheRight", bindsWithoutTheRight},
    WireAttack{"AGroupThatLeft", aGroupThatLeft},
    WireAttack{"RereadsWithoutEnd", rereadsWithoutEnd},
    WireAttack{"ReconnectsWithoutEnd", reconnectsWithoutEnd},
};

}  // namespace

std::span<const WireAttack> attacksByCall() {
  return kAttacks;
}

}  // namespace vfiogate::test
