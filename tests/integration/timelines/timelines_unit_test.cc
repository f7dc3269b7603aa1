// The timelines in which one group has several ids in one resource (`groupUnit: all`).

#include "tests/integration/timelines/timelines.h"

namespace vfiogate::test {
namespace {

using testing::HasSubstr;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class UnitTimelines : public Timelines {
protected:
  void SetUp() override {
    config_ =
        "resources:\n"
        "  - {name: vfiogate.dev/gpu, select: {vendor: \"10de\"}, groupUnit: all}\n"
        "  - {select: {vendor: \"1b36\"}}\n";
    Timelines::SetUp();
  }
};

// 30: the pod of both is gone before it started; one of them is allocated again, the other one is
// not, although nothing has it open.
TEST_F(UnitTimelines, ForceDeleteSplit) {
  start({kA, kB});
  adopt();
  ASSERT_THAT(admit(podOf("p1", kGpu, 2)), UnorderedElementsAre(kA, kB));
  kubelet().forceDelete("p1");
  const auto again = admit(podOf("p2", kGpu));
  ASSERT_THAT(again, SizeIs(1)) << said();
  const std::string other = again[0] == kA ? kB : kA;
  EXPECT_THAT(rejected(podOf("p3", kGpu)), HasSubstr("group-allocated"));
  EXPECT_TRUE(shows(kGpu, {again[0]}, {other})) << said();
}

// 31, I1: an init container had both; the containers after it take one each, and are one holder.
TEST_F(UnitTimelines, InitSplit) {
  start({kA, kB});
  adopt();
  sim::PodSpec pod{.uid = "p1",
                   .initContainers = {{"init", {{kGpu, 2}}}},
                   .containers = {{"app1", {{kGpu, 1}}}, {"app2", {{kGpu, 1}}}}};
  const auto admission = kubelet().admit(pod);
  ASSERT_TRUE(admission.admitted) << admission.message << said();
  ASSERT_THAT(admission.granted, SizeIs(3));
  EXPECT_NE(admission.granted[1].ids, admission.granted[2].ids);
  EXPECT_EQ(node_->plugind->count("\"event\":\"allocated\""), 1U) << "one record";
  EXPECT_EQ(node_->plugind->count("\"event\":\"disputed\""), 0U) << said();
}

}  // namespace
}  // namespace vfiogate::test
