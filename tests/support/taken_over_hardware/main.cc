// A taken-over hardware process of privd's: its user, its places, its filter, and one attack. Never
// shipped.
// Usage: taken_over_hardware DIRECTORY SYSFS PID ATTACK
//   DIRECTORY: of the node, with plugind/plugind.sock, state and kubelet
//   PID: a process of another user
// Prints "got: WHAT" and ends; by SIGSYS where the filter kills it.

#include "tests/support/taken_over_hardware/attacks.h"

#include <kj/exception.h>

#include <cstdio>
#include <cstdlib>
#include <initializer_list>

namespace vfiogate::test {
namespace {

[[noreturn]] void tell(const std::string& got) {
  std::printf("got: %s\n", got.c_str());
  std::_Exit(0);
}

void carryOut(const InnerPlaces& places, std::string_view name) {
  HardwareCaptive captive(places.plugind, places.sysfs);
  for (const auto attacks : {lies(), floods(), nonsense()}) {
    for (const HardwareAttack& attack : attacks) {
      if (attack.name == name) tell(attack.carryOut(captive));
    }
  }
  for (const InnerAct& act : innerActs()) {
    if (act.name == name) tell("errno " + std::to_string(act.carryOut(places)));
  }
}

}  // namespace
}  // namespace vfiogate::test

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const std::string node = argv[1];
  try {
    vfiogate::test::carryOut({.sysfs = argv[2],
                              .state = node + "/state",
                              .kubelet = node + "/kubelet",
                              .plugind = node + "/plugind/plugind.sock",
                              .root = static_cast<pid_t>(std::strtol(argv[3], nullptr, 10))},
                             argv[4]);
  } catch (const kj::Exception& failure) {
    std::fprintf(stderr, "taken_over_hardware: %s\n", failure.getDescription().cStr());
    std::_Exit(1);
  }
  std::fprintf(stderr, "taken_over_hardware: no such attack\n");
  std::_Exit(2);
}
