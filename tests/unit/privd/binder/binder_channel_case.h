#pragma once
// The binder's channel over a made-up tree, and plugind's end of it: in one process.

#include "privd/binder/binder_channel.h"

#include "ipc/gate/packet_socket.h"
#include "privd/state/allocation_records.h"
#include "sim/base/temp_dir.h"
#include "tests/support/fake_sysfs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <kj/async-io.h>
#include <kj/debug.h>

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <map>
#include <optional>

namespace vfiogate::test {

using Outcome = binder::Answer::Outcome;

inline const std::vector<Bdf> kMembersOfSeven{*Bdf::parse("0000:01:00.0"),
                                              *Bdf::parse("0000:01:00.1")};
inline const std::vector<Bdf> kMembersOfEight{*Bdf::parse("0000:02:00.0")};

/// Answers when it is told to, and at once otherwise.
class PlannedBinder final : public AllocationBinder {
public:
  kj::Promise<AllocationAnswer> bind(const std::vector<Bdf>& members) override {
    asked.push_back({"bind", members});
    return answer();
  }
  kj::Promise<AllocationAnswer> giveBack(const std::vector<Bdf>& members) override {
    asked.push_back({"give back", members});
    return answer();
  }
  void finishAll() {
    for (auto& one : waiting_) one->fulfill(AllocationAnswer{planned});
    waiting_.clear();
  }

  AllocationAnswer planned;
  bool waits = false;
  std::vector<std::pair<std::string, std::vector<Bdf>>> asked;

private:
  kj::Promise<AllocationAnswer> answer() {
    if (!waits) return planned;
    auto later = kj::newPromiseAndFulfiller<AllocationAnswer>();
    waiting_.push_back(kj::mv(later.fulfiller));
    return kj::mv(later.promise);
  }
  std::vector<kj::Own<kj::PromiseFulfiller<AllocationAnswer>>> waiting_;
};

class BinderChannelTest : public testing::Test {
protected:
  BinderChannelTest() {
    tree_.add({.address = "0000:01:00.0"});
    tree_.add({.address = "0000:01:00.1"});
    tree_.add({.address = "0000:02:00.0", .group = 8});
    for (int device = 3; device < 13; ++device)
      tree_.add({.address = address(device), .group = 20U + static_cast<unsigned>(device)});
    view_.emplace(HostView::Deps{
        sysfs_, dev_, io_.provider->getTimer(), 60 * kj::SECONDS,
        [this](const Snapshot&, const IommuGroup& group) { return bindings_[group.id]; }});
  }
  ~BinderChannelTest() noexcept override = default;

  static std::string address(int device) {
    return std::string("0000:") + (device < 10 ? "0" : "") + std::to_string(device) + ":00.0";
  }

  /// What the probe of the group found; null: nothing came.
  std::optional<binder::Probed> probed(std::uint32_t number, std::uint32_t group) {
    ask(binder::Probe{number, IommuGroupId(group)});
    return next<binder::Probed>();
  }

  /// What the card told; a child has to read it.
  binder::SerialTold told(std::uint32_t number, const Bdf& card) {
    ask(binder::ReadSerial{number, card});
    while (true) {
      if (auto answer = next<binder::SerialTold>()) return *answer;
      io_.provider->getTimer().afterDelay(1 * kj::MILLISECONDS).wait(io_.waitScope);
    }
  }
  void putVitalData(const char* address, const std::string& serial) {
    const auto length = [](std::size_t size) { return std::string(1, static_cast<char>(size)); };
    tree_.setAttribute(
        address, "vpd",
        '\x90' + length(3 + serial.size()) + '\0' + "SN" + length(serial.size()) + serial);
  }

  HostView& view() { return KJ_ASSERT_NONNULL(view_); }

  /// A channel, and what it told first, seen.
  void open(AllocationBinder* binder) {
    PacketPair pair = std::move(packetPair()).value();
    plugind_ = kj::mv(pair.theirs);
    channel_ = kj::heap<BinderChannel>(
        BinderChannel::Deps{io_.unixEventPort, io_.provider->getTimer(), sysfs_, dev_, allocations_,
                            view(), binder, mayProbe_ ? &probes_ : nullptr,
                            mayAsk_ ? &serials_ : nullptr},
        kj::mv(pair.ours));
    over_ = channel_->ended()
                .then([this](std::string why) { why_ = std::move(why); })
                .eagerlyEvaluate(nullptr);
    first_ = next<binder::Changed>();
    ask(binder::Seen{});
  }
  void open() { open(&binder_); }

  void ask(const binder::Request& request) {
    ASSERT_EQ(sendPacket(plugind_, encode(request)), PacketSent::kSent);
    turn();
  }
  void turn() {
    for (int i = 0; i < 3; ++i) {
      io_.provider->getTimer().afterDelay(0 * kj::SECONDS).wait(io_.waitScope);
      io_.waitScope.poll();
    }
  }
  /// What the binder said next; null: nothing.
  std::optional<binder::FromBinder> heard() {
    auto received = receivePacket(plugind_, binder::kLargestMessage);
    if (!received) return std::nullopt;
    auto arrived = kj::mv(received).value();
    KJ_IF_MAYBE (packet, arrived) return binder::decodeFromBinder(packet->bytes).value();
    return std::nullopt;
  }
  template <typename Message>
  std::optional<Message> next() {
    turn();
    const auto message = heard();
    if (!message || !std::holds_alternative<Message>(*message)) return std::nullopt;
    return std::get<Message>(*message);
  }
  /// How the order ended.
  std::optional<Outcome> outcomeOf(const binder::Request& order) {
    ask(order);
    const auto answer = next<binder::Answer>();
    return answer ? std::optional(answer->outcome) : std::nullopt;
  }
  /// Why the binder hung up; null: it did not.
  std::optional<std::string> hungUp() {
    turn();
    return why_;
  }

  void allocate(const std::vector<Bdf>& members = kMembersOfSeven) {
    ASSERT_TRUE(records_.allocate({members.begin(), members.end()}, "resource=vfiogate.dev/gpu",
                                  records_.newSession()));
  }
  void becomes(std::uint32_t group, GroupBinding binding) {
    bindings_[IommuGroupId(group)] = std::move(binding);
    view().rereadNow({IommuGroupId(group)});
  }

  TempDir dir_;
  FakeSysfs tree_;
  SysfsRoot sysfs_ = SysfsRoot::open(tree_.sysfs()).value();
  DevRoot dev_ = DevRoot::open(tree_.dev()).value();
  AllocationRecords records_ = AllocationRecords::open(dir_ / "devices", "this-boot").value();
  AllocationFiles allocations_ = AllocationFiles::open(dir_ / "devices", "this-boot").value();
  kj::AsyncIoContext io_ = kj::setupAsyncIo();
  std::map<IommuGroupId, GroupBinding> bindings_;
  kj::Maybe<HostView> view_;
  PlannedBinder binder_;
  GroupProbes probes_{dev_, io_.provider->getTimer()};
  bool mayProbe_ = true;
  Writer writer_{io_.unixEventPort, io_.provider->getTimer(), ForkServer::start().value(),
                 [](kj::StringPtr, WriteOutcome) {}};
  SerialReads serials_{sysfs_, writer_, io_.provider->getTimer()};
  bool mayAsk_ = true;
  kj::AutoCloseFd plugind_;
  std::optional<std::string> why_;
  std::optional<binder::Changed> first_;
  kj::Own<BinderChannel> channel_;
  kj::Promise<void> over_ = nullptr;
};

}  // namespace vfiogate::test
