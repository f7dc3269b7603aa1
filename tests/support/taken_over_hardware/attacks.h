#pragma once
// What a taken-over hardware process tries. Each attack says what it got.

#include "tests/support/taken_over_hardware/hardware_captive.h"

#include <span>
#include <string>
#include <string_view>

namespace vfiogate::test {

/// On plugind.
struct HardwareAttack {
  std::string_view name;
  std::string (*carryOut)(HardwareCaptive& captive);
};

std::span<const HardwareAttack> lies();      ///< of the hardware, in order; never return
std::span<const HardwareAttack> floods();    ///< of what is understood
std::span<const HardwareAttack> nonsense();  ///< what nobody would send

/// Off the wire.
struct InnerPlaces {
  std::string sysfs;
  std::string state;    ///< privd's
  std::string kubelet;  ///< its directory
  std::string plugind;  ///< its socket
  pid_t root;           ///< a process of another user
};

/// One act. Returns the errno, 0 if it succeeded, or not at all.
struct InnerAct {
  std::string_view name;
  int (*carryOut)(const InnerPlaces& places);
};

std::span<const InnerAct> innerActs();

}  // namespace vfiogate::test
