#pragma once
// The node of the named tests with four GPUs that are allocated in fixed sets, too.

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugind/core/dra/claim_request.h"
#include "plugind/core/dra/pool_of.h"
#include "tests/unit/plugind/ledger/ledger_case.h"

namespace vfiogate::test {

/// Four GPUs in groups 31 to 34: one at a time, in pairs, and all together.
class Sets : public testing::Test {
protected:
  static constexpr std::array<const char*, 4> kGpu{"0000:01:00.0", "0000:02:00.0", "0000:03:00.0",
                                                   "0000:04:00.0"};
  static constexpr const char* kAll = "set:all";
  static constexpr const char* kLeft = "set:left";
  static constexpr const char* kRight = "set:right";

  Sets() {
    for (std::uint32_t i = 0; i < kGpu.size(); ++i) node.hardware.add(kGpu[i], 31 + i);
    node.offer("device=2684", "gpu");
    offerSets("pair",
              {{"left", {at(kGpu[0]), at(kGpu[1])}}, {"right", {at(kGpu[2]), at(kGpu[3])}}});
    offerSets("quad", {{"all", {at(kGpu[0]), at(kGpu[1]), at(kGpu[2]), at(kGpu[3])}}});
    node.settings.dra.driver = "vfio.vfiogate.dev";
  }

  ResourceSettings& offerSets(std::string_view name, std::vector<DeviceSet> sets) {
    ResourceSettings entry;
    entry.name = resource(name);
    entry.sets = std::move(sets);
    entry.setsOverlap = true;
    entry.allocation.serve = Serve::kBoth;
    node.settings.resources.push_back(std::move(entry));
    return node.settings.resources.back();
  }

  void hold(const std::string& pod, std::string_view name, const std::string& id) {
    const CallId call = node.ask(name, {id});
    ASSERT_EQ(node.outcome(call), "granted") << node.text(call);
    node.pass(std::chrono::milliseconds(100));
    node.record(pod, name, {id});
    const auto& annotations = node.answers.at(call).response->annotations;
    node.entries.back().allocated = annotations.at(kAllocated);
    node.write();
  }

  /// A reload after which none of the GPUs is in any resource.
  void selectNothing() {
    node.settings.resources.resize(1);
    node.settings.resources[0].select = *Selector::parse("device=2700");
    node.run(node.ledger.reconfigured({}, sortIntoResources(node.settings, node.facts.snapshot),
                                      node.facts.specs, node.now));
  }

  std::string holdings() const {
    std::string all;
    for (const char* gpu : kGpu) all += node.holding(gpu) == Holding::kFree ? "-" : "+";
    return all;
  }

  /// The plugind that comes after this one, not started yet: it remembers nothing by itself.
  LedgerNode successor() const {
    LedgerNode next;
    next.hardware = node.hardware;
    next.settings = node.settings;
    return next;
  }

  DevicePool pool(bool counters = true) const {
    return poolOf(node.settings, node.ledger.state(), "node",
                  {.counters = counters, .taints = true, .api = std::nullopt});
  }

  static AllocatedClaim claimOf(const std::string& device) {
    AllocatedClaim claim{};
    claim.uid = "u1";
    claim.allocated = true;
    AllocatedDevice one{};
    one.request = "gpus";
    one.pool = "node";
    one.device = device;
    claim.devices.push_back(one);
    return claim;
  }

  static constexpr const char* kAllocated = "vfiogate.dev/allocated";
  LedgerNode node;
};

}  // namespace vfiogate::test
