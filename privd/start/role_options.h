#pragma once
// Which of privd's programs has which option of `privd serve`.

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace vfiogate {

/// One bit a program.
enum RoleBit : std::uint8_t { kOfHardware = 1, kOfGate = 2, kOfBinder = 4 };
inline constexpr std::uint8_t kOfAllRoles = kOfHardware | kOfGate | kOfBinder;

struct RoleOption {
  std::string_view name;
  std::uint8_t roles;  ///< of RoleBit; 0: the daemon's own
};

inline constexpr std::array kRoleOptions{
    RoleOption{"--plugind", kOfAllRoles},
    RoleOption{"--plugind-uid", kOfAllRoles},
    RoleOption{"--plugind-rights", kOfGate | kOfBinder},
    RoleOption{"--hardware-uid", 0},
    RoleOption{"--sysfs", kOfHardware | kOfBinder},
    RoleOption{"--dev", kOfHardware | kOfBinder},
    RoleOption{"--kubelet-dir", kOfGate},
    RoleOption{"--cdi-dir", kOfGate},
    RoleOption{"--state-dir", kOfGate | kOfBinder},
    RoleOption{"--record-dir", kOfGate | kOfBinder},
    RoleOption{"--resource-prefix", kOfGate},
    RoleOption{"--dra-driver", kOfGate},
    RoleOption{"--plugind-config", kOfGate},
    RoleOption{"--uevents", kOfHardware | kOfBinder},
    RoleOption{"--rescan", kOfHardware | kOfBinder},
    RoleOption{"--log-format", kOfAllRoles},
    RoleOption{"--audit-log", kOfBinder},
    RoleOption{"--allow", kOfBinder},
    RoleOption{"--deny", kOfBinder},
    RoleOption{"--allow-storage", kOfBinder},
    RoleOption{"--allow-unguarded-unbind", kOfBinder},
    RoleOption{"--host-mountinfo", kOfBinder},
    RoleOption{"--host-route", kOfBinder},
    RoleOption{"--module-aliases", kOfBinder},
    RoleOption{"--override", kOfBinder},
    RoleOption{"--declare", kOfBinder},
    RoleOption{"--vfs", kOfBinder},
    RoleOption{"--require-landlock", kOfAllRoles},
};

/// Null: no program of privd's has it.
constexpr const RoleOption* roleOption(std::string_view name) {
  const auto* const found = std::ranges::find(kRoleOptions, name, &RoleOption::name);
  return found == kRoleOptions.end() ? nullptr : found;
}

}  // namespace vfiogate
