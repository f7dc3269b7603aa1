// The operators' control service, over RPC.

#include "ipc/codec/request_messages.h"
#include "tests/unit/privd/rpc/served_rpc.h"

namespace vfiogate {
namespace {

constexpr Rights kOperator{.watch = true, .kubelet = true, .cdi = true, .operate = true};

Bdf cardAt(const char* address) {
  return Bdf::parse(address).value();
}

/// Notes what it was asked, and answers when it is told to.
class FakeBindingService final : public BindingService {
public:
  kj::Promise<ChangeReport> change(ChangeOrder order, AuditPeer who) override {
    orders.push_back(std::move(order));
    asked.push_back(who);
    auto pair = kj::newPromiseAndFulfiller<ChangeReport>();
    answer = kj::mv(pair.fulfiller);
    return kj::mv(pair.promise);
  }
  Result<Done, std::string> exclude(const Bdf& address, const std::string& reason,
                                    const AuditPeer& who) override {
    return note("hold " + address.str() + " " + reason, who);
  }
  Result<Done, std::string> release(const Bdf& address, const AuditPeer& who) override {
    return note("release " + address.str(), who);
  }
  Result<Done, std::string> forget(const Bdf& address, const AuditPeer& who) override {
    return note("forget " + address.str(), who);
  }
  std::vector<Exclusion> exclusions() override {
    return {{cardAt("0000:01:00.0"), "fan dies", 1'700'000'000}};
  }
  std::vector<DeviceIdentity> declared() override {
    return {{cardAt("0000:02:00.0"), 0x10de, 0x2684}};
  }

  std::vector<ChangeOrder> orders;
  std::vector<std::string> acts;
  std::vector<AuditPeer> asked;
  std::string refusal;  ///< empty: all goes well
  kj::Own<kj::PromiseFulfiller<ChangeReport>> answer;

private:
  Result<Done, std::string> note(std::string act, const AuditPeer& who) {
    acts.push_back(std::move(act));
    asked.push_back(who);
    if (!refusal.empty()) return Failure{refusal};
    return Done{};
  }
};

class SessionBindingsTest : public ServedRpc {
protected:
  SessionBindingsTest() : node_(node()) { node_.bindingService = service_; }
  ~SessionBindingsTest() noexcept override = default;

  schema::BindControl::Client controlOf(ServedPeer& peer) {
    return peer.enter().bindingsRequest().send().wait(io_.waitScope).getAnswer().getControl();
  }
  static auto orderOf(schema::BindControl::Client control) {
    auto request = control.changeRequest();
    encode(ChangeOrder{.addresses = {cardAt("0000:01:00.0")}, .driver = "vfio-pci"},
           request.initOrder());
    return request;
  }
  static auto actOn(schema::BindControl::Client control) {
    auto request = control.keepRequest();
    request.initAct().initAddress().setBus(1);
    return request;
  }

  FakeBindingService service_;
  Node node_;
};

TEST_F(SessionBindingsTest, AnOrderReachesTheServiceAndItsReportComesBack) {
  ServedPeer root(node_, io_, kOperator);
  auto changed = orderOf(controlOf(root)).send();
  while (service_.orders.empty())
    io_.provider->getTimer().afterDelay(0 * kj::SECONDS).wait(io_.waitScope);
  EXPECT_EQ(service_.orders.front().addresses, std::vector<Bdf>{cardAt("0000:01:00.0")});
  EXPECT_EQ(service_.orders.front().driver, "vfio-pci");
  EXPECT_EQ(service_.asked.front().role, "root");
  EXPECT_EQ(service_.asked.front().pid, 4711);
  const ChangeReport report{
      .outcome = ChangeOutcome::kFailed, .error = "EBUSY", .auditSequence = 9};
  service_.answer->fulfill(ChangeReport(report));
  auto response = changed.wait(io_.waitScope);
  EXPECT_EQ(*decode(response.getReport()), report);
}

TEST_F(SessionBindingsTest, WhoLeavesMeanwhileHurtsNobody) {
  {
    ServedPeer root(node_, io_, kOperator);
    auto changed = orderOf(controlOf(root)).send();
    while (service_.orders.empty())
      io_.provider->getTimer().afterDelay(0 * kj::SECONDS).wait(io_.waitScope);
  }
  service_.answer->fulfill(ChangeReport{});
  poll();
  ServedPeer next(node_, io_, kOperator);
  EXPECT_EQ(controlOf(next).keptRequest().send().wait(io_.waitScope).getExclusions().size(), 1U);
}

TEST_F(SessionBindingsTest, I6_PlugindIsDeniedTheOperatorsControl) {
  const auto rights =
      rightsOf({.plugindUid = 64532, .plugindRights = kOperator}, Origin::kDialled, 64532);
  ServedPeer plugind(node_, io_, *rights);
  auto response = plugind.enter().bindingsRequest().send().wait(io_.waitScope);
  EXPECT_TRUE(response.getAnswer().isDenied());
}

TEST_F(SessionBindingsTest, WithoutABindingServiceThereIsNoControl) {
  node_.bindingService = nullptr;
  ServedPeer root(node_, io_, kOperator);
  EXPECT_TRUE(root.enter().bindingsRequest().send().wait(io_.waitScope).getAnswer().isDenied());
}

TEST_F(SessionBindingsTest, WhatIsKeptIsChangedAndTold) {
  ServedPeer root(node_, io_, kOperator);
  auto control = controlOf(root);
  auto hold = actOn(control);
  hold.getAct().setExclude("fan dies");
  EXPECT_EQ(hold.send().wait(io_.waitScope).getFailure().size(), 0U);
  auto release = actOn(control);
  release.getAct().setRelease();
  release.send().wait(io_.waitScope);
  service_.refusal = "the disk is full";
  auto forget = actOn(control);
  forget.getAct().setForget();
  EXPECT_STREQ(forget.send().wait(io_.waitScope).getFailure().cStr(), "the disk is full");
  EXPECT_EQ(service_.acts,
            (std::vector<std::string>{"hold 0000:01:00.0 fan dies", "release 0000:01:00.0",
                                      "forget 0000:01:00.0"}));
  auto kept = control.keptRequest().send().wait(io_.waitScope);
  ASSERT_EQ(kept.getExclusions().size(), 1U);
  EXPECT_STREQ(kept.getExclusions()[0].getReason().cStr(), "fan dies");
  EXPECT_EQ(kept.getExclusions()[0].getSince(), 1'700'000'000);
  EXPECT_EQ(kept.getExclusions()[0].getAddress().getBus(), 1);
  ASSERT_EQ(kept.getDeclared().size(), 1U);
  EXPECT_EQ(kept.getDeclared()[0].getVendor(), 0x10de);
  EXPECT_EQ(kept.getDeclared()[0].getDevice(), 0x2684);
}

TEST_F(SessionBindingsTest, I10_WhoAsksForNonsenseIsHungUpOn) {
  using Act = schema::KeepAct::Builder;
  const std::vector<std::function<void(Act)>> nonsense{
      [](Act act) { act.getAddress().setDevice(32); }, [](Act act) { act.disownAddress(); },
      [](Act act) { act.setExclude(""); }, [](Act act) { act.setExclude(std::string(201, 'x')); }};
  for (const auto& spoil : nonsense) {
    ServedPeer root(node_, io_, kOperator);
    auto request = actOn(controlOf(root));
    request.getAct().setRelease();
    spoil(request.getAct());
    EXPECT_ANY_THROW(request.send().wait(io_.waitScope));
    EXPECT_NE(root.hungUp(), "");
  }
  ServedPeer root(node_, io_, kOperator);
  auto request = orderOf(controlOf(root));
  request.getOrder().setDriver("../../nvme");
  EXPECT_ANY_THROW(request.send().wait(io_.waitScope));
  EXPECT_EQ(root.hungUp(), "order: driver is no driver's name");
  EXPECT_TRUE(service_.orders.empty() && service_.acts.empty());
}

}  // namespace
}  // namespace vfiogate
