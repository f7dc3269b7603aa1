#pragma once
// The node of the named tests with its groups on host drivers.

#include <string>
#include <utility>
#include <vector>

#include "tests/unit/plugind/ledger/ledger_case.h"

namespace vfiogate::test {

inline const IommuGroupId kSharedGroup(31);
inline const IommuGroupId kOwnGroup(32);

/// As its host driver has it.
inline void putOnHost(PciDevice& device) {
  device.driver = "nvidia";
  device.vfioDev.reset();
  device.cdevNode = false;
}

using Ending = BindOutcome::Answer;

/// a and b in group 31 and c in group 32, on host drivers, to be bound when they are allocated.
class OnAllocate : public LedgerCase {
protected:
  OnAllocate() {
    for (ResourceSettings& entry : node.settings.resources) entry.allocation.onAllocate = true;
    for (const char* address : {kA, kB, kC}) {
      bound_.push_back(node.hardware.device(address));
      putOnHost(node.hardware.device(address));
    }
    node.facts.bindable = {kSharedGroup, kOwnGroup};
  }

  void wantBack() {
    for (ResourceSettings& entry : node.settings.resources)
      entry.allocation.returnToOriginal = true;
  }
  /// What privd shows of its bind of group 31, or of its undoing.
  void showBound() {
    node.hardware.device(kA) = bound_[0];
    node.hardware.device(kB) = bound_[1];
    node.facts.bindable.erase(kSharedGroup);
    node.facts.boundForAllocation.insert(kSharedGroup);
    node.see();
  }
  void showBack() {
    putOnHost(node.hardware.device(kA));
    putOnHost(node.hardware.device(kB));
    node.facts.bindable.insert(kSharedGroup);
    node.facts.boundForAllocation.erase(kSharedGroup);
    node.see();
  }
  void showBusy(bool busy) {
    node.facts.binding.clear();
    if (busy) node.facts.binding.insert(kSharedGroup);
    node.see();
  }
  void endBind(IommuGroupId group, const BindOutcome& outcome = {}) {
    node.run(node.ledger.bindEnded(group, outcome, node.now));
  }
  void endReturn(const BindOutcome& outcome = {}) {
    node.run(node.ledger.returnEnded(kSharedGroup, outcome, node.now));
  }
  /// A pod that was allocated a, and has gone: its group is on its way back.
  void allocateAndRelease() {
    wantBack();
    node.start();
    const CallId call = node.ask("gpu", {kA});
    showBound();
    endBind(kSharedGroup);
    ASSERT_EQ(node.outcome(call), "granted");
    node.record("p1", "gpu", {kA});
    node.write();
    node.forget("p1");
    node.pass(std::chrono::seconds(75));
    ASSERT_EQ(node.holding(kA), Holding::kReturning);
  }
  CallId preStart(std::vector<std::string> ids) {
    node.preStart("gpu", std::move(ids));
    return CallId(node.lastCall);
  }

  std::vector<PciDevice> bound_;
};

}  // namespace vfiogate::test
