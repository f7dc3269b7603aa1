#include "privd/cli/policy/guard_evidence.h"

#include "cli/table.h"

#include <array>
#include <string_view>

namespace vfiogate {
namespace {

using Clear = Sight::Clear;

constexpr std::array<std::string_view, 3> kClearNames{"yes", "no", "untried"};

std::string nameOfClear(Clear clear) {
  return std::string(kClearNames.at(static_cast<std::size_t>(clear)));
}

/// Disks are known by an exclusive open; where none is possible, by the host's tables.
Sight diskSight(const HostSights& sights) {
  if (sights.disks.clear == Clear::kYes) return sights.disks;
  const std::string instead = sights.mounts.clear == Clear::kYes
                                  ? sights.mounts.what + "; storage needs --allow-storage, too"
                                  : sights.mounts.what + ": give --host-mountinfo";
  return {sights.mounts.clear, sights.disks.what + "; " + instead};
}

Sight networkSight(const HostSights& sights) {
  return {sights.interfaces.clear, sights.interfaces.what + "; " + sights.routes.what};
}

Sight sightOf(Guard guard, const HostSights& sights) {
  switch (guard) {
    case Guard::kBridge:
      return {sights.headers.clear, "header types: " + sights.headers.what};
    case Guard::kBootVga:
      return {sights.headers.clear, "boot_vga: " + sights.headers.what};
    case Guard::kConsole:
      return {sights.headers.clear,
              "framebuffers, keyboards, mice, consoles below the device: " + sights.headers.what};
    case Guard::kRootDisk:
    case Guard::kBlock:
    case Guard::kStorage:
      return diskSight(sights);
    case Guard::kNetwork:
      return networkSight(sights);
    case Guard::kUsers:
      return sights.modules;
    case Guard::kSriov:
      return {sights.headers.clear, "virtfn links: " + sights.headers.what};
    case Guard::kNoIommu:
    case Guard::kMember:
      return sights.groups;
    case Guard::kInUse:
      return {sights.headers.clear, "enable counts: " + sights.headers.what};
    case Guard::kHeld:
      return {Clear::kUntried, "the record of allocations: --record-dir"};
    case Guard::kOperator:
      return sights.state;
    case Guard::kPolicy:
      return {Clear::kYes, "--allow and --deny"};
    case Guard::kUnguarded:
      return sights.nodes;
    case Guard::kPlatform:
      return {sights.headers.clear, "class codes: " + sights.headers.what};
  }
  return {};
}

}  // namespace

std::vector<GuardEvidence> evidenceOf(const HostSights& sights) {
  std::vector<GuardEvidence> rows;
  for (unsigned i = 0; i < kGuards; ++i) {
    const auto guard = static_cast<Guard>(i);
    const Sight sight = sightOf(guard, sights);
    rows.push_back({guard, sight.clear, sight.what});
  }
  return rows;
}

std::string evidenceAsText(const std::vector<GuardEvidence>& rows) {
  std::vector<std::vector<Cell>> cells;
  for (const GuardEvidence& row : rows) {
    cells.push_back({{std::string(nameOf(row.guard))}, {nameOfClear(row.has)}, {row.evidence}});
  }
  return "guards of bindings: which evidence each has here; without it a guard answers "
         "\"unknown\", "
         "which refuses.\n\n" +
         formatTable({{"GUARD"}, {"HAS"}, {"EVIDENCE"}}, cells, 0, false);
}

nlohmann::ordered_json evidenceAsJson(const std::vector<GuardEvidence>& rows) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const GuardEvidence& row : rows) {
    list.push_back(
        {{"guard", nameOf(row.guard)}, {"has", nameOfClear(row.has)}, {"evidence", row.evidence}});
  }
  return list;
}

}  // namespace vfiogate
