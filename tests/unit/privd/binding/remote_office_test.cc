// The command line's end of the operators' desk, against privd's.

#include "privd/cli/binding/remote_office.h"
#include "privd/cli/binding/run_change.h"
#include "tests/unit/privd/rpc/served_line.h"

#include <gmock/gmock.h>

#include <sstream>

namespace vfiogate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr Rights kRootsRights{.watch = true, .kubelet = true, .cdi = true, .operate = true};

/// The daemon's office, which does as it is told.
class ObedientOffice final : public BindingOffice {
public:
  kj::Promise<ChangeReport> change(ChangeOrder order, AuditPeer /*who*/) override {
    lastOrder = std::move(order);
    return kj::mv(answer);
  }
  Result<Done, std::string> hold(const Bdf& address, const std::string& reason,
                                 const AuditPeer& /*who*/) override {
    held.push_back({address, reason, 1'700'000'000});
    return Done{};
  }
  Result<Done, std::string> release(const Bdf& /*address*/, const AuditPeer& /*who*/) override {
    held.clear();
    return Done{};
  }
  Result<Done, std::string> forget(const Bdf& /*address*/, const AuditPeer& /*who*/) override {
    return Failure{std::string("the disk is full")};
  }
  std::vector<OperatorHold> holds() override { return held; }
  std::vector<DeviceIdentity> declared() override {
    return {{Bdf::make(0, 2, 0, 0).value(), 0x10de, 0x2684}};
  }

  ChangeOrder lastOrder;
  std::vector<OperatorHold> held;
  kj::Promise<ChangeReport> answer = ChangeReport{};
};

class RemoteOfficeTest : public ServedLine {
protected:
  RemoteOfficeTest() : node_(node()) { node_.office = daemon_; }
  ~RemoteOfficeTest() noexcept override = default;

  Result<kj::Own<BindingOffice>, std::string> open(Rights rights) {
    int pair[2];
    KJ_SYSCALL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair));
    connection_ = kj::heap<Connection>(
        node_, rights, nullptr,
        io_.lowLevelProvider->wrapSocketFd(kj::AutoCloseFd(pair[0]), kStreamFlags), AuditPeer{});
    return RemoteOffice::open(io_, kj::AutoCloseFd(pair[1]));
  }
  kj::Own<BindingOffice> openAsRoot() { return open(kRootsRights).value(); }

  /// Runs the order with nobody at the terminal unless `patience` says so.
  int run(BindingOffice& office, kj::Maybe<kj::Duration> patience = nullptr) {
    ChangeDisplay display{out_, err_};
    display.patience = patience;
    return runChange(office, io_, order_, DeskOptions(), display);
  }

  ObedientOffice daemon_;
  Node node_;
  kj::Own<Connection> connection_;
  ChangeOrder order_{.addresses = {Bdf::make(0, 1, 0, 0).value()}, .driver = "vfio-pci"};
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(RemoteOfficeTest, GivesTheOrderAndBringsTheReport) {
  auto office = openAsRoot();
  const ChangeReport report{.outcome = ChangeOutcome::kStuck, .error = "no answer"};
  daemon_.answer = report;
  EXPECT_EQ(office->change(order_, thisPeer()).wait(io_.waitScope), report);
  EXPECT_EQ(daemon_.lastOrder, order_);
}

TEST_F(RemoteOfficeTest, ChangesAndTellsWhatIsKept) {
  auto office = openAsRoot();
  const Bdf address = Bdf::make(0, 1, 0, 0).value();
  ASSERT_TRUE(office->hold(address, "fan dies", thisPeer()));
  EXPECT_THAT(office->holds(), ElementsAre(OperatorHold{address, "fan dies", 1'700'000'000}));
  ASSERT_TRUE(office->release(address, thisPeer()));
  EXPECT_TRUE(office->holds().empty());
  EXPECT_EQ(office->forget(address, thisPeer()).error(), "the disk is full");
  EXPECT_EQ(office->declared(), daemon_.declared());
}

TEST_F(RemoteOfficeTest, WhoHasNotTheRightIsToldSo) {
  const auto office = open(Rights{.watch = true});
  ASSERT_FALSE(office);
  EXPECT_THAT(office.error(), HasSubstr("are you root?"));
}

TEST_F(RemoteOfficeTest, ADaemonThatEndsMeanwhileLeavesTheEndUnknown) {
  auto office = openAsRoot();
  daemon_.answer = kj::NEVER_DONE;
  auto ends = kj::evalLater([this]() { connection_ = nullptr; }).eagerlyEvaluate(nullptr);
  EXPECT_EQ(run(*office), 3);
  EXPECT_THAT(err_.str(), HasSubstr("what became of the change is not known here"));
  order_.dryRun = true;
  EXPECT_EQ(run(*office), 1) << "nothing could have become of it";
}

TEST_F(RemoteOfficeTest, SomebodyAtATerminalIsToldWhyItTakesSoLong) {
  auto office = openAsRoot();
  kj::Timer& timer = io_.provider->getTimer();
  const auto slowly = [&timer]() {
    return timer.afterDelay(20 * kj::MILLISECONDS).then([]() { return ChangeReport{}; });
  };
  daemon_.answer = slowly();
  EXPECT_EQ(run(*office, 1 * kj::MILLISECONDS), 0);
  EXPECT_THAT(err_.str(), HasSubstr("waiting for the kernel"));
  EXPECT_THAT(out_.str(), HasSubstr("Done: 0 writes"));
  err_.str("");
  daemon_.answer = slowly();
  EXPECT_EQ(run(*office), 0);
  EXPECT_EQ(err_.str(), "") << "nobody is there";
}

TEST_F(RemoteOfficeTest, ARefusalForUseNamesTheProcess) {
  auto office = openAsRoot();
  daemon_.answer = ChangeReport{
      .outcome = ChangeOutcome::kRefused,
      .objections = {{.guard = Guard::kInUse, .address = order_.addresses[0], .reason = "open"}}};
  std::filesystem::create_directories(dir_ / "proc/4711/fd");
  std::filesystem::create_symlink("/dev/vfio/7", dir_ / "proc/4711/fd/9");
  DeskOptions desk;
  desk.local.sysfs = tree_.sysfs();
  desk.local.dev = tree_.dev();
  desk.proc = dir_ / "proc";
  EXPECT_EQ(runChange(*office, io_, order_, desk, ChangeDisplay{out_, err_}), 1);
  EXPECT_THAT(err_.str(), HasSubstr("pid 4711 , has /dev/vfio/7 open"));
}

}  // namespace
}  // namespace vfiogate
