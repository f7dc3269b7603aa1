#pragma once
// Asks everybody why a device is not offered, at one moment.

#include "plugind/cli/ask.h"
#include "plugind/control/status_json.h"
#include "plugind/core/status/explanation.h"
#include "plugind/metrics/ledger_metrics.h"
#include "privd/cli/base/node_view.h"
#include "privd/cli/doctor/examine.h"
#include "tests/unit/plugind/ledger/on_allocate_case.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace vfiogate::test {

class Reasons : public OnAllocate {
protected:
  /// All on vfio-pci, nothing to be bound.
  void onVfio() {
    for (ResourceSettings& entry : node.settings.resources) entry.allocation.onAllocate = false;
    for (const PciDevice& device : bound_) node.hardware.device(device.address.str()) = device;
    node.facts.bindable.clear();
  }

  /// What privd would tell plugind, and what its commands see.
  void see(const Snapshot& hardware) {
    node.facts = factsOf(hardware, true);
    const auto catalog = sortIntoResources(node.settings, hardware);
    node.facts.specs = writtenFor(catalog, hardware);
    node.run(node.ledger.hardwareSeen(node.facts, catalog, node.now));
  }

  /// That `plugind explain`, `probe`, `status` and the metrics all say `code`, and `words`.
  void expectAgreed(const char* address, const std::string& code, const std::string& words) {
    using testing::HasSubstr;
    const Explanation explained = explain(node.settings, node.ledger.state(), at(address));
    EXPECT_EQ(explained.reason, code) << "plugind explain";
    EXPECT_THAT(explained.lines, testing::Contains(HasSubstr(words))) << "plugind explain";

    const DeviceVerdict probed = verdictOf(nlohmann::json::parse(textOf(toJson(explained))));
    EXPECT_EQ(probed.offered, code == "offered") << "plugind probe";
    EXPECT_THAT(probed.text, HasSubstr(std::string(address) + ": " + code)) << "plugind probe";
    EXPECT_THAT(probed.text, HasSubstr(words)) << "plugind probe";

    const PluginStatus status = statusOf(node.ledger.state(), {});
    EXPECT_THAT(shown(status, address), testing::Pair(code, HasSubstr(words))) << "plugind status";
    EXPECT_EQ(counted(status, code), shownWith(status, code)) << "metrics";
    EXPECT_GE(counted(status, code), 1) << "metrics";
  }

  /// Its code and words in `plugind status`.
  static std::pair<std::string, std::string> shown(const PluginStatus& status,
                                                   const char* address) {
    const auto leftOut = status.leftOut.find(at(address));
    if (leftOut != status.leftOut.end()) return {leftOut->second.reason, leftOut->second.text};
    for (const ResourceStatus& each : status.resources) {
      const auto found = std::ranges::find(each.devices, at(address), &DeviceStatus::address);
      if (found != each.devices.end()) return {found->reason, found->reasonText};
    }
    return {"absent", ""};
  }

  static double shownWith(const PluginStatus& status, const std::string& code) {
    double count = 0;
    for (const auto& [address, why] : status.leftOut) count += why.reason == code ? 1 : 0;
    for (const ResourceStatus& each : status.resources) {
      count += static_cast<double>(std::ranges::count(each.devices, code, &DeviceStatus::reason));
    }
    return count;
  }

  static double counted(const PluginStatus& status, const std::string& code) {
    for (const auto& family : gaugesOf(status)) {
      if (family.name != "vfiogate_devices") continue;
      for (const auto& metric : family.metric) {
        if (metric.label.at(0).value == code) return metric.gauge.value;
      }
    }
    return -1;
  }

  bool withheldFor(const std::string& code) const {
    return std::ranges::any_of(node.journal, [&](const JournalEvent& event) {
      return event.event == "withheld" && event.reason == code;
    });
  }
};

}  // namespace vfiogate::test
