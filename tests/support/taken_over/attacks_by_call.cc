#include "ipc/codec/limits.h"
#include "tests/support/taken_over/attacks.h"
#include "tests/support/taken_over/binder_speaker.h"
#include "tests/support/taken_over/flood.h"
#include "tests/support/taken_over/gate_speaker.h"
#include "tests/support/taken_over/speaker.h"

#include <kj/debug.h>
#include <kj/vector.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <functional>
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
  KJ_REQUIRE(gate.ask(gate::Allocate{{members.begin(), members.end()},
                                     "resource=vfiogate.dev/nobody"}) == "done");
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

/// A reread is always under way, and as many more wait as may be open: the hardware process never
/// finds its connection without something to read.
std::string callsInFlight(Captive& captive) {
  constexpr std::size_t kAtOnce = kMaxOpenQuestions - 4;  // those that are finished lag behind
  Speaker speaker(captive);
  speaker.watch();
  auto control = speaker.controls.begin()->second;
  unsigned answered = 0;
  bool isOver = false;
  const std::function<kj::Promise<void>()> callOn = [&]() {
    return control.rereadRequest().send().then([&](auto&&) {
      ++answered;
      return callOn();
    });
  };
  kj::Vector<kj::Promise<void>> calls;
  for (std::size_t i = 0; i < kAtOnce; ++i) {
    calls.add(callOn().eagerlyEvaluate([&](kj::Exception&&) { isOver = true; }));
  }
  const auto end = std::chrono::steady_clock::now() + 2 * kFlood;
  while (!isOver && std::chrono::steady_clock::now() < end) captive.pause(1 * kj::MILLISECONDS);
  return std::string(isOver ? "hung up (" : "answered (") + std::to_string(answered) + ")";
}

/// Subscribes anew over and over, takes what each is told, and gives none of them back.
std::string keepsWatching(Captive& captive) {
  constexpr unsigned kMost = 10'000;
  Speaker speaker(captive);
  const auto watch = [&]() {
    speaker.watchBeside();
    return std::string("told");
  };
  std::string got;
  unsigned count = 0;
  for (; count < kMost && got != "hung up"; ++count) got = outcomeOf(watch);
  return got + " (" + std::to_string(count) + ")";
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
    WireAttack{"CallsInFlight", callsInFlight},
    WireAttack{"KeepsWatching", keepsWatching},
    WireAttack{"ReconnectsWithoutEnd", reconnectsWithoutEnd},
};

}  // namespace

std::span<const WireAttack> attacksByCall() {
  return kAttacks;
}

}  // namespace vfiogate::test
