// The command line's end of the operators' control service, against privd's.

#include "privd/cli/binding/remote_binding_service.h"
#include "privd/cli/binding/run_change.h"
#include "tests/unit/privd/rpc/served_rpc.h"

#include <gmock/gmock.h>

#include <sstream>

namespace vfiogate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr Rights kRootsRights{.watch = true, .kubelet = true, .cdi = true, .operate = true};

/// The daemon's service, which does as it is told.
class ObedientService final : public BindingService {
public:
  kj::Promise<ChangeReport> change(ChangeOrder order, AuditPeer /*who*/) override {
    lastOrder = std::move(order);
    return kj::mv(answer);
  }
  Result<Done, std::string> exclude(const Bdf& address, const std::string& reason,
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
  std::vector<Exclusion> exclusions() override { return held; }
  std::vector<DeviceIdentity> declared() override {
    return {{Bdf::make(0, 2, 0, 0).value(), 0x10de, 0x2684}};
  }

  ChangeOrder lastOrder;
  std::vector<Exclusion> held;
  kj::Promise<ChangeReport> answer = ChangeReport{};
};

class RemoteBindingServiceTest : public ServedRpc {
protected:
  RemoteBindingServiceTest() : node_(node()) { node_.bindingService = daemon_; }
  ~RemoteBindingServiceTest() noexcept override = default;

  Result<kj::Own<BindingService>, std::string> open(Rights rights) {
    int pair[2];
    KJ_SYSCALL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair));
    connection_ = kj::heap<Connection>(
        node_, rights, nullptr,
        io_.lowLevelProvider->wrapSocketFd(kj::AutoCloseFd(pair[0]), kStreamFlags), AuditPeer{});
    return RemoteBindingService::open(io_, kj::AutoCloseFd(pair[1]));
  }
  kj::Own<BindingService> openAsRoot() { return open(kRootsRights).value(); }

  /// Runs the order with nobody at the terminal unless `patience` says so.
  int run(BindingService& service, kj::Maybe<kj::Duration> patience = nullptr) {
    ChangeDisplay display{out_, err_};
    display.patience = patience;
    return runChange(service, io_, order_, ControlOptions(), display);
  }

  ObedientService daemon_;
  Node node_;
  kj::Own<Connection> connection_;
  ChangeOrder order_{.addresses = {Bdf::make(0, 1, 0, 0).value()}, .driver = "vfio-pci"};
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(RemoteBindingServiceTest, GivesTheOrderAndBringsTheReport) {
  auto service = openAsRoot();
  const ChangeReport report{.outcome = ChangeOutcome::kStuck, .error = "no answer"};
  daemon_.answer = report;
  EXPECT_EQ(service->change(order_, thisPeer()).wait(io_.waitScope), report);
  EXPECT_EQ(daemon_.lastOrder, order_);
}

TEST_F(RemoteBindingServiceTest, ChangesAndTellsWhatIsKept) {
  auto service = openAsRoot();
  const Bdf address = Bdf::make(0, 1, 0, 0).value();
  ASSERT_TRUE(service->exclude(address, "fan dies", thisPeer()));
  EXPECT_THAT(service->exclusions(), ElementsAre(Exclusion{address, "fan dies", 1'700'000'000}));
  ASSERT_TRUE(service->release(address, thisPeer()));
  EXPECT_TRUE(service->exclusions().empty());
  EXPECT_EQ(service->forget(address, thisPeer()).error(), "the disk is full");
  EXPECT_EQ(service->declared(), daemon_.declared());
}

TEST_F(RemoteBindingServiceTest, WhoHasNotTheRightIsToldSo) {
  const auto service = open(Rights{.watch = true});
  ASSERT_FALSE(service);
  EXPECT_THAT(service.error(), HasSubstr("are you root?"));
}

TEST_F(RemoteBindingServiceTest, ADaemonThatEndsMeanwhileLeavesTheEndUnknown) {
  auto service = openAsRoot();
  daemon_.answer = kj::NEVER_DONE;
  auto ends = kj::evalLater([this]() { connection_ = nullptr; }).eagerlyEvaluate(nullptr);
  EXPECT_EQ(run(*service), 3);
  EXPECT_THAT(err_.str(), HasSubstr("what became of the change is not known here"));
  order_.dryRun = true;
  EXPECT_EQ(run(*service), 1) << "nothing could have become of it";
}

TEST_F(RemoteBindingServiceTest, SomebodyAtATerminalIsToldWhyItTakesSoLong) {
  auto service = openAsRoot();
  kj::Timer& timer = io_.provider->getTimer();
  const auto slowly = [&timer]() {
    return timer.afterDelay(20 * kj::MILLISECONDS).then([]() { return ChangeReport{}; });
  };
  daemon_.answer = slowly();
  EXPECT_EQ(run(*service, 1 * kj::MILLISECONDS), 0);
  EXPECT_THAT(err_.str(), HasSubstr("waiting for the kernel"));
  EXPECT_THAT(out_.str(), HasSubstr("Done: 0 writes"));
  err_.str("");
  daemon_.answer = slowly();
  EXPECT_EQ(run(*service), 0);
  EXPECT_EQ(err_.str(), "") << "nobody is there";
}

TEST_F(RemoteBindingServiceTest, ARefusalForUseNamesTheProcess) {
  auto service = openAsRoot();
  daemon_.answer = ChangeReport{
      .outcome = ChangeOutcome::kRefused,
      .objections = {{.guard = Guard::kInUse, .address = order_.addresses[0], .reason = "open"}}};
  std::filesystem::create_directories(dir_ / "proc/4711/fd");
  std::filesystem::create_symlink("/dev/vfio/7", dir_ / "proc/4711/fd/9");
  ControlOptions control;
  control.local.sysfs = tree_.sysfs();
  control.local.dev = tree_.dev();
  control.proc = dir_ / "proc";
  EXPECT_EQ(runChange(*service, io_, order_, control, ChangeDisplay{out_, err_}), 1);
  EXPECT_THAT(err_.str(), HasSubstr("pid 4711 , has /dev/vfio/7 open"));
}

}  // namespace
}  // namespace vfiogate
