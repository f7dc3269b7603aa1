#include "tests/support/hardware.h"
#include "tests/support/taken_over_hardware/attacks.h"
#include "tests/support/taken_over_hardware/lying_servers.h"

#include <array>
#include <cstdio>

namespace vfiogate::test {
namespace {

/// As it is: the test lays it out so.
Hardware truth() {
  Hardware hardware;
  hardware.add("0000:01:00.0", 7);
  hardware.add("0000:02:00.0", 8);
  for (const char* member : {"0000:03:00.0", "0000:03:00.1"}) {
    PciDevice& device = hardware.add(member, 9);
    device.driver = "nvidia";
    device.vfioDev.reset();
    device.cdevNode = false;
  }
  hardware.group(9).groupNode = false;
  return hardware;
}

Hardware aPartIsAll() {
  Hardware lie = truth();
  lie.remove("0000:03:00.1");
  return lie;
}

/// For ever, as often as plugind asks.
[[noreturn]] void serve(HardwareCaptive& captive, const Story& story) {
  while (true) {
    Liar liar(captive, story);
    unsigned told = 0;
    while (!liar.isOver()) {
      if (liar.watches > told && liar.isWatched()) {
        told = liar.watches;
        liar.tellAndWait({Liar::kEpoch, liar.generation++, story.hardware});
        std::puts("told");
      }
      captive.pause(1 * kj::MILLISECONDS);
    }
    captive.pause(50 * kj::MILLISECONDS);
  }
}

[[noreturn]] void serve(HardwareCaptive& captive, Hardware hardware, bool rereads = true) {
  Story story;
  story.hardware = hardware.snapshot();
  story.rereads = rereads;
  serve(captive, story);
}

std::string saysThatAPartIsAll(HardwareCaptive& captive) {
  serve(captive, aPartIsAll());
}

std::string saysThatItIsOnVfio(HardwareCaptive& captive) {
  Hardware lie = truth();
  lie.add("0000:03:00.0", 9);
  lie.add("0000:03:00.1", 9);
  lie.group(9).groupNode = true;
  serve(captive, lie);
}

std::string inventsADevice(HardwareCaptive& captive) {
  Hardware lie = truth();
  lie.add("0000:09:00.0", 77);
  serve(captive, lie);
}

std::string movesAMember(HardwareCaptive& captive) {
  Hardware lie = truth();
  lie.regroup("0000:03:00.0", 8);
  serve(captive, lie);
}

std::string neverRereads(HardwareCaptive& captive) {
  serve(captive, truth(), false);
}

/// Between the truth and a lie.
std::string goesToAndFro(HardwareCaptive& captive) {
  const std::array stories{truth().snapshot(), aPartIsAll().snapshot()};
  while (true) {
    Story story;
    story.hardware = stories[0];
    Liar liar(captive, story);
    for (unsigned turn = 0; !liar.isOver() && liar.isWatched(); ++turn) {
      story.hardware = stories.at(turn % stories.size());
      liar.tellAndWait({Liar::kEpoch, liar.generation++, story.hardware});
      if (turn == 10) std::puts("told");
      captive.pause(5 * kj::MILLISECONDS);
    }
    captive.pause(50 * kj::MILLISECONDS);
  }
}

constexpr std::array kLies{
    HardwareAttack{"SaysThatAPartIsAll", saysThatAPartIsAll},
    HardwareAttack{"SaysThatItIsOnVfio", saysThatItIsOnVfio},
    HardwareAttack{"InventsADevice", inventsADevice},
    HardwareAttack{"MovesAMember", movesAMember},
    HardwareAttack{"NeverRereads", neverRereads},
    HardwareAttack{"GoesToAndFro", goesToAndFro},
};

}  // namespace

std::span<const HardwareAttack> lies() {
  return kLies;
}

}  // namespace vfiogate::test
