#pragma once
// Three devices, two groups and two resources: the smallest node on which holders can meet.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/lending_node.h"

namespace vfiogate::test {

inline constexpr const char* kA = "0000:01:00.0";
inline constexpr const char* kB = "0000:01:00.1";  // in a's group
inline constexpr const char* kC = "0000:02:00.0";  // alone

/// a and b in group 31, c in group 32; b has its own resource.
class GroupLedgerTest : public testing::Test {
protected:
  GroupLedgerTest() {
    node.hardware.add(kA, 31);
    node.hardware.add(kB, 31).device = std::uint16_t{0x2685};
    node.hardware.add(kC, 32);
    node.offer("device=2684", "gpu");
    node.offer("device=2685", "other");
    node.refresh();
  }

  std::string refusal(std::string_view name, std::vector<std::string> ids) {
    const auto grant = node.allocate(name, std::move(ids));
    return grant ? "granted" : grant.error().text;
  }

  LendingNode node;
};

}  // namespace vfiogate::test
