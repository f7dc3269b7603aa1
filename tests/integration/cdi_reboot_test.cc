// A node that reboots: the kubelet keeps its checkpoint and the answers in it, the directory of the
// specs is emptied, the boot id and the numbers of groups change (ledger.md 9).

#include "tests/integration/cdi_case.h"

namespace vfiogate::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Timeline 18, I1: the checkpoint still has the answer of before the reboot.
TEST_F(Cdi, RebootWithNewNumbersStartsByName) {
  start("inject: cdi", {kA, kB});
  const std::string id = admit("p1").ids.at(0);
  ASSERT_EQ(startContainer("p1"), "") << said();
  powerOff();
  // The two change places: the number that the pod was allocated is another device's now.
  node_->hardware.setGroup(kA, 40);
  node_->hardware.setGroup(kB, 41);
  node_->hardware.setGroup(kA, 8);
  node_->hardware.setGroup(kB, 7);
  reboot("inject: cdi");
  ASSERT_TRUE(node_->kubelet.shows(kGpu, {kA, kB})) << said();
  EXPECT_EQ(startContainer("p1"), "") << said();
  EXPECT_THAT(resolveGpu(id),
              ElementsAre("/dev/vfio/vfio", id == kA ? "/dev/vfio/8" : "/dev/vfio/7"));
}

TEST_F(Cdi, RebootWithNewNumbersIsRefusedWhereNodesWereHandedOver) {
  start("kata: true");
  const std::string id = admit("p1").ids.at(0);
  ASSERT_EQ(startContainer("p1"), "") << said();
  powerOff();
  node_->hardware.setGroup(id, 40);
  reboot("kata: true");
  ASSERT_TRUE(node_->kubelet.shows(kGpu, {kA, kB})) << said();
  EXPECT_THAT(startContainer("p1"), HasSubstr("stale-nodes")) << said();
}

TEST_F(Cdi, RebootWithTheSameNumbersStarts) {
  start("inject: cdi");
  admit("p1");
  ASSERT_EQ(startContainer("p1"), "") << said();
  powerOff();
  reboot("inject: cdi");
  ASSERT_TRUE(node_->kubelet.shows(kGpu, {kA, kB})) << said();
  EXPECT_EQ(startContainer("p1"), "") << said();
  EXPECT_THAT(admit("p2").response.annotations().at("vfiogate.dev/allocated"),
              HasSubstr("b11111111-"));
}

TEST_F(Cdi, RebootWithOtherHardwareAtTheAddressIsRefused) {
  start("inject: cdi");
  const std::string id = admit("p1").ids.at(0);
  ASSERT_EQ(startContainer("p1"), "") << said();
  powerOff();
  node_->hardware.setIds({.address = id, .device = 0x2685});
  reboot("inject: cdi");
  ASSERT_TRUE(node_->kubelet.shows(kGpu, {kA, kB})) << said();
  EXPECT_THAT(startContainer("p1"), HasSubstr("other-hardware")) << said();
}

TEST_F(Cdi, RebootWithTheDeviceAtAnotherAddressIsRefused) {
  start("inject: cdi");
  const std::string id = admit("p1").ids.at(0);
  ASSERT_EQ(startContainer("p1"), "") << said();
  powerOff();
  node_->hardware.remove(id);
  node_->hardware.add({.address = "0000:09:00.0", .group = id == kA ? 7U : 8U});
  reboot("inject: cdi");
  const std::string other = id == kA ? kB : kA;
  ASSERT_TRUE(node_->kubelet.shows(kGpu, {other, "0000:09:00.0"}, {id})) << said();
  const std::string error = startContainer("p1");
  EXPECT_THAT(error, HasSubstr(id));
  EXPECT_THAT(error, HasSubstr("gone"));
  EXPECT_THAT(resolveGpu(id), IsEmpty()) << "its group's number is another address's";
}

}  // namespace
}  // namespace vfiogate::test
