#pragma once
// A node in miniature: made-up hardware, a configuration, and plugind's core upon them.

#include <string>
#include <utility>
#include <vector>

#include "plugind/core/advertise.h"
#include "plugind/core/group_ledger.h"
#include "tests/support/hardware.h"

namespace vfiogate::test {

inline ResourceName resourceNamed(std::string_view name) {
  return *ResourceName::parse("vfiogate.dev/" + std::string(name));
}

/// 10:42:07 UTC, some day.
inline constexpr std::chrono::sys_seconds kMorning{std::chrono::seconds(20'000 * 86'400 + 38'527)};

class LendingNode {
public:
  /// Offers what `select` selects as vfiogate.dev/`name`. Earlier ones come first.
  void offer(std::string_view select, std::string_view name) {
    ResourceSettings entry;
    entry.name = resourceNamed(name);
    entry.select = *Selector::parse(select);
    settings.resources.push_back(std::move(entry));
  }

  /// Sees the hardware as it is now and sends the frames that follow.
  void refresh(Lending lending = Lending::kOpen) {
    snapshot = hardware.snapshot();
    catalog = sortIntoResources(settings, snapshot);
    shown = advertise({snapshot, catalog}, ledger, shown, lending);
  }

  Result<TakeTicket, Refusal> take(std::string_view name, std::vector<std::string> ids) {
    const AllocateRequest request{resourceNamed(name), std::move(ids),
                                  shown.frames[resourceNamed(name)]};
    return ledger.take(request, {snapshot, catalog}, {now, draw});
  }

  /// What privd answers now about the groups of a request.
  GroupLooks look(TakeTicket ticket) const {
    GroupLooks looks;
    for (const auto& [group, take] : ledger.takings().at(ticket).groups) {
      const bool there = hardware.snapshot().groups.contains(group);
      looks.emplace(group, there ? GroupLook{GroupLook::Answer::kSeen, hardware.look(group)}
                                 : GroupLook{GroupLook::Answer::kVanished, {}});
    }
    return looks;
  }

  Result<Grant, Refusal> settle(TakeTicket ticket) {
    return ledger.settle(ticket, look(ticket), now);
  }

  /// Both steps with nothing in between.
  Result<Grant, Refusal> allocate(std::string_view name, std::vector<std::string> ids) {
    const auto ticket = take(name, std::move(ids));
    if (!ticket) return Failure{ticket.error()};
    return settle(*ticket);
  }

  /// The frame of a resource as text: "0000:01:00.0+ 0000:02:00.0-", '+' for Healthy.
  std::string frame(std::string_view name) const {
    std::string text;
    const auto found = shown.frames.find(resourceNamed(name));
    if (found == shown.frames.end()) return "none";
    for (const FrameDevice& device : found->second.devices) {
      text += (text.empty() ? "" : " ") + device.id + (device.healthy ? "+" : "-");
    }
    return text;
  }

  Hardware hardware;
  Settings settings;
  Snapshot snapshot;  ///< as last seen
  ResourceCatalog catalog;
  GroupLedger ledger;
  Advertisement shown;
  std::chrono::sys_seconds now = kMorning;
  std::uint16_t draw = 0x7f3a;
};

}  // namespace vfiogate::test
