// What privd changed it shows at once, without an event of the kernel's and long before a rescan.

#include "tests/integration/bind/bind_case.h"

namespace vfiogate::test {
namespace {

using Watching = BindCase;

const std::map<std::string, std::string> kWatcherEnvironment{
    {"ASAN_OPTIONS", "detect_leaks=0:use_sigaltstack=0"}};

TEST_F(Watching, AChangeOfDriversAndAStuckWriteAreShownWhenTheyHappen) {
  bring("two-in-group.yaml");
  ASSERT_TRUE(node_->serve({"--rescan", "3600"})) << node_->daemon().output();
  ChildProcess watch({builtProgram("privd"), "watch", "--socket", node_->file("run/privd.sock")},
                     kWatcherEnvironment);
  ASSERT_TRUE(watch.says("0000:03:01.0 group=4 driver=e1000 ")) << watch.output();
  EXPECT_EQ(node_->change({"bind", "03:01.0"}).code, 0);
  EXPECT_TRUE(watch.says("0000:03:01.0 group=4 driver=vfio-pci state=passable")) << watch.output();
  EXPECT_TRUE(watch.says("0000:03:02.0 group=4 driver=vfio-pci state=passable")) << watch.output();
  node_->ctl("hang 0000:01:00.0 bind");
  EXPECT_EQ(node_->change({"bind", "01:00.0"}).code, 3);
  EXPECT_TRUE(watch.says("0000:01:00.0 group=3 driver=- state=write-stuck")) << watch.output();
  node_->ctl("unhang");
  EXPECT_TRUE(watch.says("0000:01:00.0 group=3 driver=vfio-pci state=passable")) << watch.output();
}

TEST_F(Watching, WatchersNeverKeepTheNextCommandOut) {
  bring("two-in-group.yaml");
  ASSERT_TRUE(node_->serve()) << node_->daemon().output();
  const std::vector<std::string> watch{builtProgram("privd"), "watch", "--socket",
                                       node_->file("run/privd.sock")};
  std::vector<std::unique_ptr<ChildProcess>> watchers;
  for (int i = 0; i < 5; ++i) {
    watchers.push_back(std::make_unique<ChildProcess>(watch, kWatcherEnvironment));
    ASSERT_TRUE(watchers.back()->says("0000:03:01.0")) << watchers.back()->output();
  }
  EXPECT_TRUE(watchers.front()->says("the daemon closed the connection"));
  const Ended asked = node_->change({"holds"});
  EXPECT_EQ(asked.code, 0) << asked.text;
  EXPECT_TRUE(watchers[1]->says("the daemon closed the connection"));
  EXPECT_TRUE(node_->daemon().says("reason=\"makes room for a newer one\""));
  EXPECT_EQ(node_->daemon().count("too many connections"), 0U) << node_->daemon().output();
}

}  // namespace
}  // namespace vfiogate::test
