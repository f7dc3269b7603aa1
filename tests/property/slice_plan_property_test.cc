// What a scheduler sees while a pool is being written, whatever stood there before.

#include "netd/dra/slices/slice_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <set>

namespace vfiogate {
namespace {

const SliceOwner kPlaceOfPool{"n1", "node-uid"};
using Devices = std::map<std::string, PoolDevice>;
using CounterSets = std::map<std::string, std::set<std::string>>;

/// A pool as a reader makes it of the slices: of the highest generation, and whole or not at all.
struct SeenPool {
  Devices devices;
  CounterSets counterSets;
  bool twice = false;              ///< something stands in it twice
  std::set<std::string> versions;  ///< of the slices that it was read from

  bool says(const DevicePool& pool) const {
    return !twice && devices == pool.devices && counterSets == pool.counterSets;
  }
};

std::optional<SeenPool> seen(const ObservedSlices& slices) {
  std::int64_t highest = -1;
  for (const auto& [name, slice] : slices) {
    if (slice.spec.pool == "n1") highest = std::max(highest, slice.spec.generation);
  }
  SeenPool pool;
  std::int64_t count = 0;
  std::set<std::int64_t> counts;
  for (const auto& [name, slice] : slices) {
    if (slice.spec.pool != "n1" || slice.spec.generation != highest) continue;
    ++count;
    counts.insert(slice.spec.sliceCount);
    pool.versions.insert(name + "@" + slice.resourceVersion);
    const std::size_t whole = pool.devices.size() + pool.counterSets.size() +
                              slice.spec.devices.size() + slice.spec.counterSets.size();
    pool.devices.insert(slice.spec.devices.begin(), slice.spec.devices.end());
    pool.counterSets.insert(slice.spec.counterSets.begin(), slice.spec.counterSets.end());
    pool.twice = pool.twice || pool.devices.size() + pool.counterSets.size() != whole;
  }
  if (counts != std::set<std::int64_t>{count}) return std::nullopt;
  return pool;
}

class Draw {
public:
  explicit Draw(unsigned seed) : engine_(seed) {}
  std::size_t below(std::size_t most) {
    return std::uniform_int_distribution<std::size_t>(0, most - 1)(engine_);
  }
  bool oneIn(std::size_t times) { return below(times) == 0; }

private:
  std::mt19937 engine_;
};

PoolDevice drawnDevice(Draw& draw, std::size_t number) {
  PoolDevice device;
  device.attributes["number"] = static_cast<std::int64_t>(draw.below(3));
  if (draw.oneIn(3)) device.taints.push_back({"d.example/held", "", {}});
  if (draw.oneIn(2)) {
    device.consumes.insert({"set-" + std::to_string(number / 8), "c" + std::to_string(number)});
    if (draw.oneIn(4)) device.consumes.insert({"set-0", "c0"});
  }
  return device;
}

DevicePool drawnPool(Draw& draw) {
  DevicePool pool{.driver = "d.example", .name = "n1", .devices = {}, .counterSets = {}};
  const std::size_t most = draw.oneIn(3) ? 3 : 300;
  const std::size_t thin = 1 + draw.below(3);
  for (std::size_t number = draw.below(most + 1); number-- > 0;) {
    if (!draw.oneIn(thin)) continue;
    const PoolDevice device = drawnDevice(draw, number);
    pool.devices["dev-" + std::to_string(number)] = device;
    for (const CounterName& each : device.consumes) {
      pool.counterSets[each.set].insert(each.counter);
    }
  }
  return pool;
}

/// A small step from one pool to the next, as an allocation makes.
DevicePool nextPool(Draw& draw, DevicePool pool) {
  if (pool.devices.empty() || draw.oneIn(4)) return drawnPool(draw);
  for (std::size_t changes = 1 + draw.below(3); changes-- > 0;) {
    const auto device = std::next(pool.devices.begin(),
                                  static_cast<std::ptrdiff_t>(draw.below(pool.devices.size())));
    device->second.attributes["number"] = static_cast<std::int64_t>(draw.below(3));
  }
  return pool;
}

/// A server that keeps preconditions; what does not hold there is a failure of the test.
class ModelServer {
public:
  ObservedSlices slices;

  void carryOut(const SliceWrite& write) {
    const auto stands = slices.find(write.slice.name);
    if (write.kind == SliceWrite::Kind::kCreate) {
      ASSERT_EQ(stands, slices.end()) << write.slice.name << " exists";
      ASSERT_EQ(write.slice.uid, "");
    } else {
      ASSERT_NE(stands, slices.end()) << write.slice.name << " does not exist";
      ASSERT_EQ(stands->second.uid, write.slice.uid);
      ASSERT_EQ(stands->second.resourceVersion, write.slice.resourceVersion);
    }
    ASSERT_LE(write.slice.spec.devices.size(), kMostDevices);
    ASSERT_LE(write.slice.spec.counterSets.size(), kMostCounterSets);
    slices.erase(write.slice.name);
    if (write.kind != SliceWrite::Kind::kDelete) put(write.slice);
  }
  void put(Slice slice) {
    slice.resourceVersion = std::to_string(++version_);
    if (slice.uid.empty()) slice.uid = "uid-" + slice.resourceVersion;
    slices.insert_or_assign(slice.name, slice);
  }

private:
  int version_ = 0;
};

/// What others may do to our slices.
void meddle(Draw& draw, ModelServer& server) {
  if (server.slices.empty()) return;
  Slice slice = std::next(server.slices.begin(),
                          static_cast<std::ptrdiff_t>(draw.below(server.slices.size())))
                    ->second;
  switch (draw.below(9)) {
    case 0:
      server.slices.clear();
      return;
    case 1:
    case 2:
      server.slices.erase(slice.name);
      return;
    case 3:
      slice.spec.generation += static_cast<std::int64_t>(draw.below(5)) - 2;
      break;
    case 4:
      slice.spec.sliceCount = static_cast<std::int64_t>(1 + draw.below(4));
      break;
    case 5:
      if (!slice.spec.devices.empty()) slice.spec.devices.erase(slice.spec.devices.begin());
      break;
    case 6:  // a copy under another name: every device twice
      slice.name = "by-hand-" + std::to_string(draw.below(3));
      slice.uid.clear();
      break;
    case 7:
      slice.name = "older-" + std::to_string(draw.below(3));
      slice.uid.clear();
      slice.spec.pool = "another";
      break;
    default:
      slice.spec.strange = "{}";
      break;
  }
  server.put(std::move(slice));
}

/// Carries the plan out and checks after each write.
void writeAll(ModelServer& server, const DevicePool& pool) {
  const auto plan = planSlices(pool, kPlaceOfPool, server.slices, {});
  ASSERT_TRUE(plan) << plan.error();
  const auto before = server.slices;
  for (const SliceWrite& write : plan->writes) {
    ASSERT_NO_FATAL_FAILURE(server.carryOut(write));
    const auto now = seen(server.slices);
    if (!now || now->says(pool)) continue;
    // Whole, and not what is wanted: then only of what stood there before, nothing of it ours anew.
    for (const std::string& version : now->versions) {
      const std::string name = version.substr(0, version.find('@'));
      ASSERT_TRUE(before.contains(name) && version == name + "@" + before.at(name).resourceVersion)
          << version << " is part of a whole pool of which others are not written yet";
    }
  }
  const auto after = seen(server.slices);
  const bool none = pool.devices.empty() && pool.counterSets.empty();
  ASSERT_TRUE(none ? server.slices.empty() : after && after->says(pool));
  const auto again = planSlices(pool, kPlaceOfPool, server.slices, {});
  ASSERT_TRUE(again && again->writes.empty()) << "there is always something to write";
}

TEST(SlicePlanProperty, NobodyReadsAMixtureAndTheEndIsThePool) {
  for (unsigned seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Draw draw(seed);
    ModelServer server;
    DevicePool pool = drawnPool(draw);
    for (int round = 0; round < 6; ++round) {
      ASSERT_NO_FATAL_FAILURE(writeAll(server, pool)) << "round " << round;
      for (std::size_t acts = draw.below(4); acts-- > 0;) meddle(draw, server);
      pool = draw.oneIn(3) ? pool : nextPool(draw, pool);
    }
  }
}

/// Somebody else may act between two writes, or netd may end: what is planned next still gets
/// there.
TEST(SlicePlanProperty, APlanThatIsBrokenOffIsTakenUp) {
  for (unsigned seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Draw draw(seed);
    ModelServer server;
    for (int round = 0; round < 4; ++round) {
      const DevicePool pool = drawnPool(draw);
      const auto plan = planSlices(pool, kPlaceOfPool, server.slices, {});
      ASSERT_TRUE(plan) << plan.error();
      const std::size_t done = plan->writes.empty() ? 0 : draw.below(plan->writes.size());
      for (std::size_t i = 0; i < done; ++i) {
        ASSERT_NO_FATAL_FAILURE(server.carryOut(plan->writes[i]));
      }
      if (draw.oneIn(2)) meddle(draw, server);
      ASSERT_NO_FATAL_FAILURE(writeAll(server, draw.oneIn(2) ? pool : drawnPool(draw)));
    }
  }
}

}  // namespace
}  // namespace vfiogate
