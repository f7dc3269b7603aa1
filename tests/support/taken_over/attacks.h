#pragma once
// What a taken-over plugind tries. Each attack says what it got.

#include "tests/support/taken_over/captive.h"

#include <sys/types.h>

#include <span>
#include <string>
#include <string_view>

namespace vfiogate::test {

/// Over the privilege line. A number in parentheses at the end of what it got differs each time.
struct WireAttack {
  std::string_view name;
  std::string (*carryOut)(Captive& captive);
};

std::span<const WireAttack> attacksByCall();     ///< calls that the hardware process takes
std::span<const WireAttack> attacksOnGate();     ///< requests that the gate understands
std::span<const WireAttack> attacksOnRecord();   ///< those that fill its record of allocations
std::span<const WireAttack> attacksBySpec();     ///< those about CDI specs
std::span<const WireAttack> attacksByPacket();   ///< packets to the gate that nobody would send
std::span<const WireAttack> attacksOnBinder();   ///< requests that the binder understands
std::span<const WireAttack> attacksByOrder();    ///< packets to the binder that nobody would send
std::span<const WireAttack> attacksByMessage();  ///< messages that nobody would write
std::span<const WireAttack> falsePlugins();      ///< on the kubelet's sockets; never return

/// Off the wire: one system call. Returns the errno, 0 if it succeeded, or not at all.
struct DirectAct {
  std::string_view name;
  int (*carryOut)(pid_t privd);
};

std::span<const DirectAct> directActs();

}  // namespace vfiogate::test
