#include "tests/support/hardware.h"
#include "tests/support/taken_over_hardware/attacks.h"
#include "tests/support/taken_over_hardware/lying_servers.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <vector>

namespace vfiogate::test {
namespace {

constexpr std::chrono::milliseconds kFlood{2500};

/// As many devices of no resource's, each in a group of its own.
Snapshot many(unsigned count) {
  Hardware hardware;
  std::array<char, 32> text{};
  for (unsigned i = 0; i < count; ++i) {
    std::snprintf(text.data(), text.size(), "0001:%02x:%02x.%x", i >> 8U, (i >> 3U) & 0x1fU,
                  i & 7U);
    hardware.add(text.data(), i).vendor = std::uint16_t{0x8086};
  }
  return hardware.snapshot();
}

/// `step` tells one thing, over and over; false: it was hung up on.
template <typename Step>
std::string floods(HardwareCaptive& captive, const Story& story, Step step) {
  Liar liar(captive, story);
  if (!liar.isWatched()) return "hung up at once";
  const auto end = std::chrono::steady_clock::now() + kFlood;
  unsigned told = 0;
  while (std::chrono::steady_clock::now() < end && !liar.isOver() && step(liar)) ++told;
  const std::string got = liar.isOver() ? "hung up" : liar.howItEnds(100 * kj::MILLISECONDS);
  return got + " (" + std::to_string(told) + ")";
}

std::string tellsWithoutWaiting(HardwareCaptive& captive) {
  const Story story{.hardware = many(8)};
  return floods(captive, story, [&story](Liar& liar) {
    for (int i = 0; i < 16; ++i) {
      liar.tell({Liar::kEpoch, liar.generation++, story.hardware}).detach([](kj::Exception&&) {});
    }
    liar.turn();
    return true;
  });
}

std::string tellsAndReadsNothing(HardwareCaptive& captive) {
  const Story story{.hardware = many(1)};
  return floods(captive, story, [&story](Liar& liar) {
    liar.readNoMore();
    for (int i = 0; i < 16; ++i) {
      liar.tell({Liar::kEpoch, liar.generation++, story.hardware}).detach([](kj::Exception&&) {});
    }
    liar.turn();
    return true;
  });
}

std::string tellsOfThousandsWithoutEnd(HardwareCaptive& captive) {
  const Story story{.hardware = many(4096)};
  return floods(captive, story, [&story](Liar& liar) {
    return liar.tellAndWait({Liar::kEpoch, liar.generation++, story.hardware});
  });
}

std::string tellsOfAsManyAsThereMayBe(HardwareCaptive& captive) {
  const Story story{.hardware = many(65'536)};
  return floods(captive, story, [&story](Liar& liar) {
    return liar.tellAndWait({Liar::kEpoch, liar.generation++, story.hardware});
  });
}

/// As long as they may be, so that a whole is as large as one may be.
std::string tellsOfLongTexts(HardwareCaptive& captive) {
  Story story{.hardware = many(1'900)};
  for (auto& [address, device] : story.hardware.devices) device.modalias.assign(4'000, 'x');
  return floods(captive, story, [&story](Liar& liar) {
    return liar.tellAndWait({Liar::kEpoch, liar.generation++, story.hardware});
  });
}

/// Each time it is asked for the whole.
std::string tellsWhatDoesNotFollow(HardwareCaptive& captive) {
  const Story story{.hardware = many(8)};
  return floods(captive, story, [&story](Liar& liar) {
    const std::uint64_t base = liar.generation + 1'000;
    liar.generation += 2'000;
    return liar.tellAndWait({Liar::kEpoch, liar.generation++, story.hardware}) &&
           liar.tellAndWait({Liar::kEpoch, base + 1, UpdateDelta{base, {}}});
  });
}

std::string dialsWithoutEnd(HardwareCaptive& captive) {
  const auto end = std::chrono::steady_clock::now() + kFlood;
  unsigned dialled = 0;
  for (; std::chrono::steady_clock::now() < end; ++dialled) {
    captive.dial();
    captive.pause(1 * kj::MILLISECONDS);
  }
  return "dialled (" + std::to_string(dialled) + ")";
}

std::string dialsAndSaysNothing(HardwareCaptive& captive) {
  std::vector<kj::AutoCloseFd> kept;
  for (int i = 0; i < 100; ++i) kept.push_back(captive.dialSilently());
  for (const auto& connection : kept) {
    if (captive.howItEnds(connection) != "hung up") return "one was served on";
  }
  return "hung up";
}

std::string opensAndSaysNothing(HardwareCaptive& captive) {
  const auto connection = captive.dial();
  return captive.howItEnds(connection);
}

std::string neverLetsIn(HardwareCaptive& captive) {
  Liar liar(captive, {.enters = false});
  return liar.howItEnds();
}

/// An honest one tells the whole at once.
std::string neverTells(HardwareCaptive& captive) {
  Liar liar(captive, {});
  return liar.isWatched() ? liar.howItEnds(6 * kj::SECONDS) : "hung up at once";
}

constexpr std::array kFloods{
    HardwareAttack{"TellsWithoutWaiting", tellsWithoutWaiting},
    HardwareAttack{"TellsAndReadsNothing", tellsAndReadsNothing},
    HardwareAttack{"TellsOfThousandsWithoutEnd", tellsOfThousandsWithoutEnd},
    HardwareAttack{"TellsOfAsManyAsThereMayBe", tellsOfAsManyAsThereMayBe},
    HardwareAttack{"TellsOfLongTexts", tellsOfLongTexts},
    HardwareAttack{"TellsWhatDoesNotFollow", tellsWhatDoesNotFollow},
    HardwareAttack{"DialsWithoutEnd", dialsWithoutEnd},
    HardwareAttack{"DialsAndSaysNothing", dialsAndSaysNothing},
    HardwareAttack{"OpensAndSaysNothing", opensAndSaysNothing},
    HardwareAttack{"NeverLetsIn", neverLetsIn},
    HardwareAttack{"NeverTells", neverTells},
};

}  // namespace

std::span<const HardwareAttack> floods() {
  return kFloods;
}

}  // namespace vfiogate::test
