// Who watches while drivers change, and who is connected.

#include "ipc/socket/unix_socket.h"
#include "privd/cli/base/daemon_session.h"
#include "tests/integration/bind/bind_case.h"

namespace vfiogate::test {
namespace {

using Watching = BindCase;

constexpr auto kPatience = 30 * kj::SECONDS;

TEST_F(Watching, AChangeOfDriversIsShownWithoutADaemon) {
  bring("two-in-group.yaml");
  ChildProcess watch({builtProgram("privd"), "watch", "--sysfs", node_->sysfs(), "--dev",
                      node_->dev(), "--rescan", "1"},
                     {{"ASAN_OPTIONS", "detect_leaks=0:use_sigaltstack=0"}});
  ASSERT_TRUE(watch.says("0000:03:01.0 group=4 driver=e1000 ")) << watch.output();
  EXPECT_EQ(node_->change({"bind", "03:01.0"}).code, 0);
  EXPECT_TRUE(watch.says("0000:03:01.0 group=4 driver=vfio-pci state=passable")) << watch.output();
  EXPECT_TRUE(watch.says("0000:03:02.0 group=4 driver=vfio-pci state=passable")) << watch.output();
}

TEST_F(Watching, IdleConnectionsNeverKeepTheNextCommandOut) {
  bring("two-in-group.yaml");
  ASSERT_TRUE(node_->serve()) << node_->daemon().output();
  auto io = kj::setupAsyncIo();
  const auto end = [&io](DaemonSession& session) {
    io.provider->getTimer().timeoutAfter(kPatience, session.ended()).wait(io.waitScope);
  };
  std::vector<kj::Own<DaemonSession>> idle;
  for (int i = 0; i < 5; ++i) {
    auto dialled = dialAt(node_->file("run/privd.sock").c_str());
    ASSERT_TRUE(dialled);
    idle.push_back(kj::heap<DaemonSession>(io, kj::mv(dialled).value()));
    ASSERT_TRUE(idle.back()->enter());
  }
  EXPECT_NO_THROW(end(*idle[0]));
  const Ended asked = node_->change({"holds"});
  EXPECT_EQ(asked.code, 0) << asked.text;
  EXPECT_NO_THROW(end(*idle[1]));
  EXPECT_TRUE(node_->daemon().says("reason=\"makes room for a newer one\""));
  EXPECT_EQ(node_->daemon().count("too many connections"), 0U) << node_->daemon().output();
}

}  // namespace
}  // namespace vfiogate::test
