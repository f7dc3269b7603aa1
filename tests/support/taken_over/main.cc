// A taken-over plugind: plugind's user, filter and listener, and one attack. Never shipped.
// Usage: taken_over SOCKET ATTACK [PID OF PRIVD]
// Prints "got: WHAT" and ends; by SIGSYS where the filter kills it.

#include "tests/support/taken_over/attacks.h"

#include <kj/exception.h>

#include <cstdio>
#include <cstdlib>
#include <initializer_list>

namespace vfiogate::test {
namespace {

/// By _Exit: destructors would wait for gRPC's threads, and nothing here needs an end.
[[noreturn]] void tell(const std::string& got) {
  std::printf("got: %s\n", got.c_str());
  std::_Exit(0);
}

void carryOut(const std::string& socket, std::string_view name, pid_t privd) {
  Captive captive(socket);
  for (const auto attacks :
       {attacksByCall(), attacksByMessage(), attacksOnGate(), attacksOnRecord(), attacksBySpec(),
        attacksByPacket(), attacksOnBinder(), attacksByOrder(), falsePlugins()}) {
    for (const WireAttack& attack : attacks) {
      if (attack.name == name) tell(attack.carryOut(captive));
    }
  }
  for (const DirectAct& act : directActs()) {
    if (act.name == name) tell("errno " + std::to_string(act.carryOut(privd)));
  }
}

}  // namespace
}  // namespace vfiogate::test

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  try {
    vfiogate::test::carryOut(argv[1], argv[2],
                             argc > 3 ? static_cast<pid_t>(std::strtol(argv[3], nullptr, 10)) : 0);
  } catch (const kj::Exception& failure) {
    std::fprintf(stderr, "taken_over: %s\n", failure.getDescription().cStr());
    std::_Exit(1);
  }
  std::fprintf(stderr, "taken_over: no such attack\n");
  std::_Exit(2);
}
