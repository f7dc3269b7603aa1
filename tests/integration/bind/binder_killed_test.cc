// kill -9 of privd-binder at each step of a change for an allocation, there and back: what plugind
// says meanwhile, and that the next binder finds the group whole.

#include "ipc/binder/binder_packets.h"
#include "sim/sysfs/control/control_client.h"
#include "tests/integration/bind/roles_apart_case.h"
#include "tests/support/seen/call_stops.h"
#include "tests/support/seen/wire_sight.h"
#include "tests/support/until.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <poll.h>
#include <sys/syscall.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <map>
#include <string>
#include <vector>

namespace vfiogate::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

const std::string kSecond = "0000:03:02.0";  // with kFirst in group 4
const std::string kEnterVfio = "bus/pci/drivers/vfio-pci/bind";
constexpr auto kStepPatience = std::chrono::seconds(30);

/// By what a step of the binder's is told from outside.
enum class Sign {
  kRequest,   ///< plugind's packet
  kRecord,    ///< the file of a device that is to be bound gets its name
  kLog,       ///< a record of the audit log is written
  kLogSync,   ///< and made durable
  kWrite,     ///< the fork server is asked for a write into sysfs
  kInKernel,  ///< the kernel has such a write
  kDrop,      ///< the file of a device that went back is taken away
  kAnswer,    ///< plugind is answered
};

/// Where the binder is killed: at the nth such call of the change, in front of it or behind.
struct Moment {
  const char* name;
  Sign sign;
  unsigned nth = 1;
  bool behind = false;
};

void PrintTo(const Moment& moment, std::ostream* out) {
  *out << moment.name;
}

std::string nameOfCase(const testing::TestParamInfo<Moment>& info) {
  return info.param.name;
}

constexpr bool kBehind = true;

// Each of the two devices is taken from its driver, given its override, and bound.
const std::vector<Moment> kThere{
    {"RequestCame", Sign::kRequest, 1, kBehind},
    {"NothingRecorded", Sign::kRecord, 1},
    {"OneRecorded", Sign::kRecord, 1, kBehind},
    {"BothRecorded", Sign::kRecord, 2, kBehind},
    {"IntentUnwritten", Sign::kLog, 1},
    {"IntentWritten", Sign::kLog, 1, kBehind},
    {"IntentDurable", Sign::kLogSync, 1, kBehind},
    {"FirstUnbindUnasked", Sign::kWrite, 1},
    {"FirstUnbindInKernel", Sign::kInKernel, 1},
    {"FirstUnbound", Sign::kWrite, 2},
    {"FirstOverrideInKernel", Sign::kInKernel, 2},
    {"FirstOverridden", Sign::kWrite, 3},
    {"FirstBindInKernel", Sign::kInKernel, 3},
    {"FirstBound", Sign::kWrite, 4},
    {"SecondUnbindInKernel", Sign::kInKernel, 4},
    {"SecondUnbound", Sign::kWrite, 5},
    {"SecondOverrideInKernel", Sign::kInKernel, 5},
    {"SecondOverridden", Sign::kWrite, 6},
    {"SecondBindAsked", Sign::kWrite, 6, kBehind},
    {"SecondBindInKernel", Sign::kInKernel, 6},
    {"OutcomeUnwritten", Sign::kLog, 2},
    {"OutcomeDurable", Sign::kLogSync, 2, kBehind},
    {"Unanswered", Sign::kAnswer, 1},
};

// The outcome of the bind, and its answer, come before.
const std::vector<Moment> kBack{
    {"RequestCame", Sign::kRequest, 1, kBehind},
    {"IntentUnwritten", Sign::kLog, 2},
    {"IntentWritten", Sign::kLog, 2, kBehind},
    {"IntentDurable", Sign::kLogSync, 2, kBehind},
    {"FirstUnbindUnasked", Sign::kWrite, 1},
    {"FirstUnbindInKernel", Sign::kInKernel, 1},
    {"FirstUnbound", Sign::kWrite, 2},
    {"FirstOverrideInKernel", Sign::kInKernel, 2},
    {"FirstOverrideBack", Sign::kWrite, 3},
    {"FirstBindInKernel", Sign::kInKernel, 3},
    {"FirstBack", Sign::kWrite, 4},
    {"SecondUnbindInKernel", Sign::kInKernel, 4},
    {"SecondUnbound", Sign::kWrite, 5},
    {"SecondOverrideInKernel", Sign::kInKernel, 5},
    {"SecondOverrideBack", Sign::kWrite, 6},
    {"SecondBindAsked", Sign::kWrite, 6, kBehind},
    {"SecondBindInKernel", Sign::kInKernel, 6},
    {"RecordsKept", Sign::kDrop, 1},
    {"OneRecordDropped", Sign::kDrop, 1, kBehind},
    {"BothRecordsDropped", Sign::kDrop, 2, kBehind},
    {"OutcomeUnwritten", Sign::kLog, 3},
    {"OutcomeDurable", Sign::kLogSync, 3, kBehind},
    {"Unanswered", Sign::kAnswer, 2},
};

bool isSysfsText(const std::string& bytes) {
  return bytes == "\n" || bytes == "vfio-pci" || Bdf::parse(bytes);
}

/// The binder's calls, as they pass.
class BinderSight {
public:
  explicit BinderSight(Moment moment) : moment_(moment) {}

  bool isAt(const SeenCall& call) {
    return call.returned == moment_.behind && shows(call) && ++count_ == moment_.nth;
  }

private:
  bool shows(const SeenCall& call) const {
    switch (moment_.sign) {
      case Sign::kRecord:
        return call.number == SYS_renameat && Bdf::parse(pathOf(call));
      case Sign::kDrop:
        return call.number == SYS_unlinkat && Bdf::parse(pathOf(call));
      case Sign::kLog:
        return call.number == SYS_write && isLog(call);
      case Sign::kLogSync:
        return call.number == SYS_fsync && isLog(call);
      default:
        return showsPacket(call);
    }
  }
  static bool isLog(const SeenCall& call) {
    std::error_code none;
    return std::filesystem::read_symlink(
               "/proc/" + std::to_string(call.process) + "/fd/" + std::to_string(call.args[0]),
               none)
               .extension() == ".jsonl";
  }
  bool showsPacket(const SeenCall& call) const {
    const auto moved = passing(call);
    if (!moved || moved->channel != Channel::kGate) return false;
    if (moment_.sign == Sign::kRequest) {
      const auto request = binder::decodeRequest(moved->bytes);
      return !moved->sends && request &&
             (std::holds_alternative<binder::Bind>(*request) ||
              std::holds_alternative<binder::GiveBack>(*request));
    }
    if (!moved->sends) return false;
    if (moment_.sign == Sign::kWrite) return isSysfsText(moved->bytes);
    const auto answer = binder::decodeFromBinder(moved->bytes);
    return answer && std::holds_alternative<binder::Answer>(*answer);
  }

  const Moment moment_;
  unsigned count_ = 0;
};

class BinderKilled : public RolesApart, public testing::WithParamInterface<Moment> {
protected:
  // Who gets a device gets its whole group. One that could not be bound rests for a second.
  BinderKilled() : RolesApart(", groupUnit: whole", "holdDown: 1s\n") {}
  ~BinderKilled() noexcept override = default;

  /// One group is offered, of two devices.
  void startAll() {
    ASSERT_EQ(run({"hold", kAlone, "--reason", "another test's"}).code, 0);
    for (const char* role : {"gate", "hardware", "binder"}) startRole(role);
    ASSERT_TRUE(node_->kubelet.shows(kCards, {kFirst}, {kAlone})) << said();
    before_ = devicesNow();
    came_ = node_->plugind->count("event=privd_came");
  }
  /// Drivers and overrides.
  std::map<std::string, std::string> devicesNow() const {
    std::map<std::string, std::string> now;
    for (const std::string& each : {kFirst, kSecond}) {
      std::ifstream file(sim_->sysfs() + "/bus/pci/devices/" + each + "/driver_override");
      std::string override;
      std::getline(file, override);
      now[each] = driverOf(each) + " " + override;
    }
    return now;
  }

  /// The order that lets the nth write of a change hang. `from`, `to`: the drivers.
  std::string hangOf(unsigned nth, const std::string& from, const std::string& to) const {
    const std::string& device = nth > 3 ? kSecond : kFirst;
    const std::array<std::string, 3> words{"hang bus/pci/drivers/" + from + "/unbind " + device,
                                           "hang " + device + " driver_override",
                                           "hang bus/pci/drivers/" + to + "/bind " + device};
    return words.at((nth - 1) % words.size());
  }
  /// Kills the binder at the moment of the change that `begin` leads to.
  void killIn(const std::string& from, const std::string& to, const std::function<void()>& begin) {
    const Moment& moment = GetParam();
    if (moment.sign == Sign::kInKernel) {
      ASSERT_EQ(sim_->command(hangOf(moment.nth, from, to)), "ok\n");
      begin();
      ASSERT_EQ(sim_->command("await-waiting 1"), "ok\n");
      return killRole("binder");
    }
    ChildProcess& binder = *roles_.at("binder");
    BinderSight sight(moment);
    CallStops stops(
        {binder.pid()}, [&](const SeenCall& call) { return sight.isAt(call); },
        [&binder]() { binder.signal(SIGKILL); });
    begin();
    const bool reached = stops.await(kStepPatience);
    if (stops.end().contains(binder.pid())) binder.waitedForElsewhere();
    ASSERT_TRUE(reached) << "the change has no such step" << said();
    killRole("binder");
  }

  /// An Allocate that has not bound the group to its end is under way: the kernel has the write
  /// that binds `device`, or any, and the card falls silent. So what is bound goes back at once.
  std::future<std::string> allocateInVain(const std::string& device = "") {
    EXPECT_EQ(sim_->command("hang " + kEnterVfio + " " + device), "ok\n");
    const sim::ControlRequest hangs(sim_->control(), "await-waiting 1");
    const auto ask = [this] {
      return std::async(std::launch::async, [this] { return refusal(kFirst); });
    };
    auto refused = ask();
    EXPECT_TRUE(until([&] {
      pollfd answered{hangs.fd(), POLLIN, 0};
      if (poll(&answered, 1, 0) == 1) return true;
      if (refused.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return false;
      // A moment after the kernel's end of a write its locks are still there.
      std::cout << "asked again: " << refused.get() << "\n";
      refused = ask();
      return false;
    })) << said();
    EXPECT_EQ(sim_->command("mute " + kFirst), "ok\n");
    return refused;
  }

  /// Without a binder. What is bound to its end would be allocated.
  void expectTheTruth() {
    EXPECT_THAT(status(), HasSubstr("privd-binder away"));
    const bool mayEnd = GetParam().sign == Sign::kWrite && GetParam().behind;
    if (mayEnd || isBound()) return;
    EXPECT_THAT(refusal(kFirst), HasSubstr("privd-binder is away")) << said();
  }
  bool isBound() const { return driverOf(kFirst) == "vfio-pci" && driverOf(kSecond) == "vfio-pci"; }

  /// `hardware`: what plugind says of the device's, soon.
  bool knows(const std::string& hardware, const std::string& device = kFirst) {
    return until([&] {
      const std::string told = plugindCommand({"explain", device, "-o", "json"});
      return nlohmann::json::parse(told).at("device").at("hardware") == hardware;
    });
  }
  void startBinderAnew() {
    startRole("binder");
    if (GetParam().sign != Sign::kInKernel) return;
    // The write that is still under way has the device's lock.
    if (isBound()) {
      EXPECT_TRUE(knows("ready")) << said();
      EXPECT_THAT(refusal(kFirst), HasSubstr("not-recorded")) << said();
    } else {
      EXPECT_TRUE(knows("binding")) << said();
    }
    ASSERT_EQ(sim_->command("unhang"), "ok\n");
    ASSERT_EQ(sim_->command("await-waiting 0"), "ok\n");
  }

  /// What is left of the change goes back, and is as it was before: by the next Allocate, by hand
  /// where that has nothing to bind.
  void expectWayBack() {
    // A group with a host driver in it is ready in none of its devices.
    const bool hosts = driverOf(kFirst) == "e1000" || driverOf(kSecond) == "e1000";
    for (const std::string& each : {kFirst, kSecond}) {
      const bool ready = !hosts && driverOf(each) == "vfio-pci";
      ASSERT_TRUE(knows(ready ? "ready" : "bindable", each)) << said();
    }
    ASSERT_TRUE(offers()) << said();
    const auto left = devicesNow();
    if (isBound()) {
      const Ended unbound = run({"unbind", kFirst});
      EXPECT_EQ(unbound.code, 0) << unbound.text;
      EXPECT_TRUE(knows("bindable")) << said();
    } else {
      auto refused = allocateInVain();
      ASSERT_EQ(sim_->command("unhang"), "ok\n");
      EXPECT_THAT(refused.get(), HasSubstr("not-viable")) << said();
      EXPECT_TRUE(node_->plugind->saysAll({"event=return_ended", "outcome=done"})) << said();
      EXPECT_EQ(sim_->command("unmute " + kFirst), "ok\n");
    }
    EXPECT_EQ(devicesNow(), before_) << testing::PrintToString(left) << said();
    EXPECT_THAT(bindings(), IsEmpty());
  }
  /// The next pod has all of the group, and nobody else has any.
  void expectWhole() {
    ASSERT_TRUE(admit("next")) << said();
    for (const std::string& each : {kFirst, kSecond}) EXPECT_EQ(driverOf(each), "vfio-pci");
    EXPECT_FALSE(node_->kubelet.admit(podOf("another", kCards)).admitted) << said();
    EXPECT_EQ(run({"unbind", kFirst}).code, 1) << "a pod has it";
    const Ended verified = BindNode::plain({"audit", "verify", auditFile()});
    EXPECT_EQ(verified.code, 0) << verified.text;
    EXPECT_EQ(node_->plugind->count("event=privd_came"), came_)
        << "the session is not the binder's";
  }
  /// A moment after the kernel's end of a write its locks are still there.
  bool admit(const std::string& pod) {
    for (int i = 0; i < 5 && offers(); ++i) {
      if (node_->kubelet.admit(podOf(pod + std::to_string(i), kCards)).admitted) return true;
    }
    return false;
  }
  bool offers() {
    return node_->kubelet.await(
        kCards, [](const sim::DeviceTable& shown) { return !shown.healthy().empty(); });
  }
  std::vector<std::string> bindings() const {
    std::vector<std::string> names;
    for (const auto& file : std::filesystem::directory_iterator(node_->directory("state/bindings")))
      names.push_back(file.path().filename());
    return names;
  }

private:
  std::map<std::string, std::string> before_;
  std::size_t came_ = 0;
};

class BinderKilledThere : public BinderKilled {};
class BinderKilledBack : public BinderKilled {};

TEST_P(BinderKilledThere, I3_RefusesThatPodAndTheNextOneServes) {
  ASSERT_NO_FATAL_FAILURE(startAll());
  std::future<std::string> refused;
  ASSERT_NO_FATAL_FAILURE(killIn("e1000", "vfio-pci", [&]() {
    refused = std::async(std::launch::async, [this] { return refusal(kFirst); });
  }));
  EXPECT_THAT(refused.get(), HasSubstr("bind-failed:privd-away")) << said();
  expectTheTruth();
  ASSERT_NO_FATAL_FAILURE(startBinderAnew());
  ASSERT_NO_FATAL_FAILURE(expectWayBack());
  expectWhole();
}

TEST_P(BinderKilledBack, I3_LeavesTheGroupToTheNextOne) {
  ASSERT_NO_FATAL_FAILURE(startAll());
  auto refused = allocateInVain(kSecond);
  ASSERT_NO_FATAL_FAILURE(killIn(
      "vfio-pci", "e1000", [this]() { EXPECT_EQ(sim_->command("unhang " + kEnterVfio), "ok\n"); }));
  EXPECT_THAT(refused.get(), HasSubstr("not-viable")) << said();
  EXPECT_TRUE(node_->plugind->saysAll({"event=return_ended", "privd-binder is away"})) << said();
  EXPECT_EQ(sim_->command("unmute " + kFirst), "ok\n");
  expectTheTruth();
  ASSERT_NO_FATAL_FAILURE(startBinderAnew());
  ASSERT_NO_FATAL_FAILURE(expectWayBack());
  expectWhole();
}

INSTANTIATE_TEST_SUITE_P(Steps, BinderKilledThere, testing::ValuesIn(kThere), nameOfCase);
INSTANTIATE_TEST_SUITE_P(Steps, BinderKilledBack, testing::ValuesIn(kBack), nameOfCase);

}  // namespace
}  // namespace vfiogate::test
