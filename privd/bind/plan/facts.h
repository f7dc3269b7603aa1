#pragma once
// What is known of the functions that a change of drivers would touch.

#include "privd/bind/plan/block_use.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace vfiogate {

/// The answer of an exclusive open, which the kernel gives to one at a time.
enum class Exclusive : std::uint8_t {
  kGot,         ///< nobody else has the disk
  kBusy,        ///< somebody has
  kImpossible,  ///< it could not be tried: no node, or the device cgroup forbids it
};

struct DiskFacts {
  DiskUse use;
  Exclusive exclusive = Exclusive::kImpossible;
};

struct InterfaceFacts {
  std::string name;
  std::optional<std::uint32_t> flags;  ///< of `net/<name>/flags`; bit 0: up
  std::string master;                  ///< empty: none
  std::vector<std::string> uppers;     ///< stacked on it: bonds, VLANs
  bool routed = false;                 ///< a route leads through it
};

/// How often the host driver's module is used. Source: `module/refcnt`, `module/holders`.
struct ModuleUse {
  std::string name;
  std::uint32_t references = 0;
  std::vector<std::string> modules;  ///< that use it, one reference each
};

/// Of one function that is not on VFIO, and of whatever hangs below it, at any depth.
struct DeviceFacts {
  std::vector<DiskFacts> disks;
  std::vector<InterfaceFacts> interfaces;
  std::vector<std::string> unseenInterfaces;  ///< USB functions with one elsewhere: "1-4:1.0"
  std::vector<std::string> consoles;  ///< framebuffers, and where the kernel writes: "fb0", "ttyS4"
  std::vector<std::string> inputs;    ///< keyboards and mice: "input5"
  std::vector<std::string> terminals;  ///< which may be open, unseen by us: "ttyUSB0"
  std::optional<ModuleUse> module;     ///< null: built in, or not readable
};

struct GuardFacts {
  std::map<Bdf, DeviceFacts> devices;  ///< those not on VFIO; without a driver: `consoles` alone
  bool tablesComplete = false;         ///< the host's mounts and swaps were read
};

}  // namespace vfiogate
