#pragma once
// The node of the named tests (ledger.md 17): a and b in group 31, c alone in group 32.

#include <gtest/gtest.h>

#include "tests/support/ledger_node.h"

namespace vfiogate::test {

inline constexpr const char* kA = "0000:01:00.0";
inline constexpr const char* kB = "0000:01:00.1";
inline constexpr const char* kC = "0000:02:00.0";

class LedgerCase : public testing::Test {
protected:
  LedgerCase() {
    node.hardware.add(kA, 31);
    node.hardware.add(kB, 31).device = std::uint16_t{0x2685};
    node.hardware.add(kC, 32);
    node.offer("device=2684", "gpu");
    node.offer("device=2685", "other");
  }

  /// a and b become like devices of one resource that shows both.
  void showAll() {
    node.hardware.device(kB).device = std::uint16_t{0x2684};
    node.settings.resources[0].allocation.groupUnit = GroupUnit::kAll;
  }

  /// A pod holds `ids`: granted, recorded, read.
  void hold(const std::string& pod, std::string_view name, std::vector<std::string> ids) {
    ASSERT_EQ(node.allocate(name, ids), "granted");
    node.pass(std::chrono::milliseconds(100));
    node.record(pod, name, {ids.begin(), ids.end()});
    node.write();
  }

  void setUse(std::uint32_t group, GroupUse use) {
    node.use(group, use);
    node.see();
  }

  LedgerNode node;
};

}  // namespace vfiogate::test
