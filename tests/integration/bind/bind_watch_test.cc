// Who watches while drivers change.

#include "tests/integration/bind/bind_case.h"

namespace vfiogate::test {
namespace {

using Watching = BindCase;

TEST_F(Watching, AChangeOfDriversIsShownWithoutADaemon) {
  bring("two-in-group.yaml");
  ChildProcess watch({builtProgram("privd"), "watch", "--sysfs", node_->sysfs(), "--dev",
                      node_->dev(), "--rescan", "1"},
                     filteredEnvironment());
  ASSERT_TRUE(watch.says("0000:03:01.0 group=4 driver=e1000 ")) << watch.output();
  EXPECT_EQ(node_->change({"bind", "03:01.0"}).code, 0);
  EXPECT_TRUE(watch.says("0000:03:01.0 group=4 driver=vfio-pci state=passable")) << watch.output();
  EXPECT_TRUE(watch.says("0000:03:02.0 group=4 driver=vfio-pci state=passable")) << watch.output();
}

// Nothing of the hardware changes with it, and no rescan is due.
TEST_F(Watching, WhatAnOperatorExcludesIsShownAtOnce) {
  bring("two-in-group.yaml");
  ChildProcess watch({builtProgram("privd"), "watch", "--sysfs", node_->sysfs(), "--dev",
                      node_->dev(), "--state-dir", node_->stateDir(), "--rescan", "86400"},
                     filteredEnvironment());
  ASSERT_TRUE(watch.says("0000:03:01.0 group=4 driver=e1000 state=host-driver")) << watch.output();
  EXPECT_EQ(node_->change({"hold", "03:01.0", "--reason", "fan"}).code, 0);
  EXPECT_TRUE(watch.says("0000:03:02.0 group=4 driver=e1000 state=operator-excluded"))
      << watch.output();
  EXPECT_EQ(node_->change({"release", "03:01.0"}).code, 0);
  EXPECT_TRUE(watch.saysAll({"0000:03:01.0 group=4 driver=e1000 state=host-driver"}, 2))
      << watch.output();
}

}  // namespace
}  // namespace vfiogate::test
