#include "netd/dra/slices/slice_plan.h"

#include "netd/dra/slices/slice_name.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace vfiogate {
namespace {

/// A generation above this is none of ours: somebody could leave us no higher one.
constexpr std::int64_t kMostGeneration = 1'000'000'000'000'000;

/// The observed slices, sorted.
struct Standing {
  std::map<SliceSlot, const Slice*> ours;
  std::vector<const Slice*> obsolete;  ///< of our driver and node
  std::map<std::string, const Slice*> foreign;
  std::int64_t generation = 0;  ///< the highest of our pool
};

Standing sortOut(const DevicePool& pool, const std::string& node, const std::string& base,
                 const ObservedSlices& observed) {
  Standing standing;
  for (const auto& [name, slice] : observed) {
    const SliceSpec& spec = slice.spec;
    const bool believable = spec.generation >= 0 && spec.generation <= kMostGeneration;
    const auto slot = sliceSlotOf(base, name);
    if (spec.driver != pool.driver || spec.node != node) {
      standing.foreign.emplace(name, &slice);
      continue;
    }
    if (spec.pool == pool.name && believable) {
      standing.generation = std::max(standing.generation, spec.generation);
    }
    if (slot && spec.pool == pool.name && believable) {
      standing.ours.emplace(*slot, &slice);
    } else {
      standing.obsolete.push_back(&slice);
    }
  }
  return standing;
}

SliceContents contentsOf(const Standing& standing) {
  SliceContents contents;
  for (const auto& [slot, slice] : standing.ours) contents.emplace(slot, slice->spec);
  return contents;
}

/// What is wanted at a place, on top of what stands there.
Slice wantedAt(const SliceContents::value_type& content, const SliceContents& all,
               const DevicePool& pool, const SliceOwner& node, const std::string& base,
               const Standing& standing) {
  Slice slice;
  const auto stands = standing.ours.find(content.first);
  if (stands != standing.ours.end()) slice = *stands->second;
  slice.name = sliceName(base, content.first);
  slice.owner = node;
  slice.spec = content.second;
  slice.spec.driver = pool.driver;
  slice.spec.node = node.name;
  slice.spec.pool = pool.name;
  slice.spec.generation = std::max<std::int64_t>(standing.generation, 1);
  slice.spec.sliceCount = static_cast<std::int64_t>(all.size());
  return slice;
}

bool saysTheSame(const Slice& wanted, const Slice& stands, const SliceEchoes& echoes) {
  if (wanted.owner != stands.owner) return false;
  if (wanted.spec == stands.spec) return true;
  const auto echo = echoes.find(wanted.name);
  return echo != echoes.end() && echo->second.sent == wanted.spec &&
         echo->second.stored == stands.spec;
}

std::vector<SliceWrite> deletesOf(const Standing& standing, const SliceContents& contents) {
  std::vector<SliceWrite> deletes;
  for (const Slice* slice : standing.obsolete) {
    deletes.push_back({SliceWrite::Kind::kDelete, *slice});
  }
  for (const auto& [slot, slice] : standing.ours) {
    if (!contents.contains(slot)) deletes.push_back({SliceWrite::Kind::kDelete, *slice});
  }
  return deletes;
}

void addChanges(const std::vector<Slice>& wanted, const ObservedSlices& observed,
                const SliceEchoes& echoes, std::vector<SliceWrite>& writes) {
  for (const Slice& slice : wanted) {
    if (slice.uid.empty()) {
      writes.push_back({SliceWrite::Kind::kCreate, slice});
    } else if (!saysTheSame(slice, observed.at(slice.name), echoes)) {
      writes.push_back({SliceWrite::Kind::kUpdate, slice});
    }
  }
}

std::string takenText(const Slice& slice) {
  return "the name " + slice.name + " is taken by a ResourceSlice of driver " + slice.spec.driver +
         " on node " + slice.spec.node + ", which is not ours to change";
}

}  // namespace

Result<SlicePlan, std::string> planSlices(const DevicePool& pool, const SliceOwner& node,
                                          const ObservedSlices& observed,
                                          const SliceEchoes& echoes) {
  const std::string base = sliceNameBase(node.name, pool.driver);
  const Standing standing = sortOut(pool, node.name, base, observed);
  const auto contents = layOut(pool, contentsOf(standing));
  if (!contents) return Failure{contents.error()};
  SlicePlan plan;
  for (const auto& content : *contents) {
    Slice slice = wantedAt(content, *contents, pool, node, base, standing);
    const auto taken = standing.foreign.find(slice.name);
    if (taken != standing.foreign.end()) return Failure{takenText(*taken->second)};
    plan.wanted.push_back(std::move(slice));
  }
  const std::vector<SliceWrite> deletes = deletesOf(standing, *contents);
  plan.writes = deletes;
  addChanges(plan.wanted, observed, echoes, plan.writes);
  if (plan.writes.size() <= 1 || plan.writes.size() == deletes.size()) return plan;
  for (Slice& slice : plan.wanted) slice.spec.generation = standing.generation + 1;
  plan.writes = deletes;
  addChanges(plan.wanted, observed, echoes, plan.writes);
  return plan;
}

KeptFields keptOf(const SliceSpec& sent, const SliceSpec& stored) {
  KeptFields kept;
  kept.counters = std::ranges::includes(stored.counterSets, sent.counterSets);
  for (const auto& [name, device] : sent.devices) {
    const auto found = stored.devices.find(name);
    if (found == stored.devices.end()) continue;
    kept.counters = kept.counters && device.consumes == found->second.consumes;
    kept.taints = kept.taints && device.taints.size() <= found->second.taints.size();
  }
  return kept;
}

}  // namespace vfiogate
