#include "ipc/types/binding_change.h"

#include <algorithm>
#include <array>

namespace vfiogate {
namespace {

constexpr std::array<std::string_view, kGuards> kGuardNames{
    "bridge",  "boot-vga", "console", "root-disk", "block",   "storage",
    "network", "users",    "sriov",   "no-iommu",  "member",  "in-use",
    "held",    "operator", "policy",  "unguarded", "platform"};

constexpr std::array<std::string_view, 6> kOutcomeNames{"done",   "already-so",   "refused",
                                                        "failed", "left-changed", "stuck"};

}  // namespace

std::string_view nameOf(Guard guard) {
  return kGuardNames.at(static_cast<std::size_t>(guard));
}

std::optional<Guard> guardNamed(std::string_view name) {
  const auto* const found = std::ranges::find(kGuardNames, name);
  if (found == kGuardNames.end()) return std::nullopt;
  return static_cast<Guard>(found - kGuardNames.begin());
}

std::string_view nameOf(ChangeOutcome outcome) {
  return kOutcomeNames.at(static_cast<std::size_t>(outcome));
}

int exitCodeOf(ChangeOutcome outcome) {
  switch (outcome) {
    case ChangeOutcome::kDone:
    case ChangeOutcome::kAlreadySo:
      return 0;
    case ChangeOutcome::kRefused:
    case ChangeOutcome::kFailed:
      return 1;
    case ChangeOutcome::kLeftChanged:
    case ChangeOutcome::kStuck:
      return 3;
  }
  return 3;
}

}  // namespace vfiogate
