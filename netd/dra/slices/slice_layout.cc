#include "netd/dra/slices/slice_plan.h"

#include <utility>

namespace vfiogate {
namespace {

struct KindOfDevices {
  static constexpr SliceKind kKind = SliceKind::kDevices;
  static constexpr std::size_t kMost = kMostDevices;
  static auto& in(auto& spec) { return spec.devices; }
};
struct KindOfCounters {
  static constexpr SliceKind kKind = SliceKind::kCounters;
  static constexpr std::size_t kMost = kMostCounterSets;
  static auto& in(auto& spec) { return spec.counterSets; }
};

/// Takes from `rest` what it puts into `contents`.
template <typename Kind, typename Rest>
void keepPlaces(Rest& rest, const SliceContents& before, SliceContents& contents) {
  for (const auto& [slot, old] : before) {
    if (slot.kind != Kind::kKind) continue;
    for (const auto& [name, ignored] : Kind::in(old)) {
      auto& place = Kind::in(contents[slot]);
      if (place.size() < Kind::kMost) place.insert(rest.extract(name));
    }
  }
}

template <typename Kind, typename Rest>
void findPlaces(Rest rest, SliceContents& contents) {
  SliceSlot slot{Kind::kKind, 0};
  while (!rest.empty()) {
    auto& place = Kind::in(contents[slot]);
    while (place.size() < Kind::kMost && !rest.empty()) place.insert(rest.extract(rest.begin()));
    ++slot.number;
  }
}

template <typename Kind, typename All>
void place(All all, const SliceContents& before, SliceContents& contents) {
  keepPlaces<Kind>(all, before, contents);
  findPlaces<Kind>(std::move(all), contents);
}

std::string faultOf(const DevicePool& pool) {
  for (const auto& [name, counters] : pool.counterSets) {
    if (counters.empty()) return "counter set " + name + " has no counter";
    if (counters.size() > kMostCounters) {
      return "counter set " + name + " has more than " + std::to_string(kMostCounters) +
             " counters";
    }
  }
  for (const auto& [name, device] : pool.devices) {
    std::set<std::string> sets;
    for (const CounterName& consumed : device.consumes) {
      const auto set = pool.counterSets.find(consumed.set);
      if (set == pool.counterSets.end() || !set->second.contains(consumed.counter)) {
        return "device " + name + " consumes a counter that the pool does not have";
      }
      sets.insert(consumed.set);
    }
    if (sets.size() > kMostConsumedSets) {
      return "device " + name + " consumes counters of more than " +
             std::to_string(kMostConsumedSets) + " sets";
    }
  }
  return {};
}

}  // namespace

Result<SliceContents, std::string> layOut(const DevicePool& pool, const SliceContents& before) {
  if (std::string fault = faultOf(pool); !fault.empty()) return Failure{std::move(fault)};
  SliceContents contents;
  place<KindOfCounters>(pool.counterSets, before, contents);
  place<KindOfDevices>(pool.devices, before, contents);
  std::erase_if(contents, [](const auto& entry) {
    return entry.second.devices.empty() && entry.second.counterSets.empty();
  });
  return contents;
}

}  // namespace vfiogate
