// Writes that the kernel keeps: reported as stuck, and nothing else waits for them.

#include "tests/integration/bind/bind_case.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <map>
#include <string>
#include <vector>

namespace vfiogate::test {
namespace {

using testing::HasSubstr;

class Hang : public BindCase {
protected:
  void SetUp() override {
    BindCase::SetUp();
    if (IsSkipped()) return;
    bring(kLaptop);
    before_ = node_->state();
    ASSERT_TRUE(node_->serve()) << node_->daemon().output();
  }
  /// The Wi-Fi card's bind hangs at its third write; returns what the command came to.
  void getStuck() {
    ASSERT_EQ(node_->ctl("hang-nth 3"), "ok\n");
    const auto begin = std::chrono::steady_clock::now();
    auto change = node_->begin({"bind", kWifi, "-o", "json"});
    ASSERT_EQ(node_->ctl("await-waiting 1"), "ok\n");
    // Others are served at once, while it is not yet known that it is stuck.
    const Ended other = bindGpu();
    EXPECT_EQ(other.code, 0) << other.text;
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
    stuck_ = {change->wait(), change->outputWhole()};
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  }

  /// Runs `privd WORDS` as a person who looks does.
  Ended list(std::vector<std::string> query) const {
    return BindNode::plain(words(std::move(query), places()));
  }
  std::vector<std::string> places() const {
    return {"--sysfs",    node_->sysfs(), "--dev",
            node_->dev(), "--record-dir", node_->stateDir() + "/devices"};
  }
  /// By address, what one `privd list` shows.
  std::map<std::string, nlohmann::json> listed() const {
    const Ended ended = list({"list", "-o", "json"});
    EXPECT_EQ(ended.code, 0) << ended.text;
    std::map<std::string, nlohmann::json> devices;
    const nlohmann::json shown = ended.json();
    for (const auto& device : shown.at("devices")) devices[device.at("address")] = device;
    return devices;
  }
  /// By address, what one `privd doctor` says of a device's state: the level and the reason.
  std::map<std::string, std::string> judged() const {
    const nlohmann::json report = list({"doctor", "-o", "json"}).json();
    std::map<std::string, std::string> findings;
    for (const auto& finding : report.at("findings")) {
      const auto& [device, evidence] = std::pair(finding.at("subject"), finding.at("evidence"));
      if (finding.at("code") != "device-state" || !device.is_string()) continue;
      const std::string why = evidence.is_string() ? std::string(evidence) : "no evidence";
      findings[device] = std::string(finding.at("level")) + ", " + why;
    }
    return findings;
  }

  TreeState before_;
  Ended stuck_;
};

TEST_F(Hang, AStuckWriteIsReportedAndTheDaemonServesOn) {
  getStuck();
  EXPECT_EQ(stuck_.code, 3) << stuck_.text;
  const auto report = stuck_.json();
  ASSERT_TRUE(report.is_object()) << stuck_.text;
  EXPECT_EQ(report.at("outcome"), "stuck");
  const std::vector<std::string> differences = report.at("differences");
  const std::string wifi = kWifi;
  EXPECT_THAT(differences,
              testing::ElementsAre(
                  testing::AllOf(HasSubstr(wifi), HasSubstr("has not come back")),
                  wifi + ": '\\n' > bus/pci/devices/" + wifi +
                      "/driver_override: not tried: a write is stuck there",
                  wifi + ": '" + wifi +
                      "' > bus/pci/drivers/iwlwifi/bind: not tried: a write is stuck there"));
  EXPECT_EQ(node_->audit().back().at("outcome"), "stuck");
  // Nothing more is written where the kernel is stuck, in either direction.
  const std::size_t written = node_->writes().size();
  for (const char* verb : {"bind", "unbind"}) {
    const Ended again = node_->change({verb, kWifi});
    EXPECT_EQ(again.code, 1) << again.text;
    EXPECT_THAT(again.text, HasSubstr("a write of one has not come back"));
    const Ended dry = node_->change({verb, kWifi, "--dry-run"});
    EXPECT_EQ(dry.code, 1) << dry.text;
    EXPECT_THAT(dry.text, HasSubstr("a write of one has not come back"));
  }
  EXPECT_EQ(node_->writes().size(), written);
  EXPECT_EQ(node_->change({"unbind", kGpu}).code, 0) << "others go on";
}

// docs/reasons.md: `binding` and `write-stuck`, of whoever's change.
TEST_F(Hang, WhoeverLooksIsToldWhatHangsAndWhatRuns) {
  ChildProcess watch(words({builtProgram("privd"), "watch", "--rescan", "1"}, places()),
                     filteredEnvironment());
  const std::string seen = std::string(kWifi) + " group=";
  ASSERT_TRUE(watch.says("added " + seen)) << watch.output();
  ASSERT_EQ(node_->ctl("hang-nth 3"), "ok\n");
  const auto begun = std::chrono::steady_clock::now();
  auto change = node_->begin({"bind", kWifi});
  ASSERT_EQ(node_->ctl("await-waiting 1"), "ok\n");
  auto shown = listed();
  auto findings = judged();
  EXPECT_EQ(shown[kLan].at("state"), "host-driver") << "another group";
  EXPECT_FALSE(findings.contains(kLan));
  // A machine that takes longer to answer tells of a write that counts as stuck by then.
  if (std::chrono::steady_clock::now() - begun < std::chrono::seconds(5)) {
    EXPECT_EQ(shown[kWifi].at("state"), "binding");
    EXPECT_THAT(std::string(shown[kWifi].at("reason")), HasSubstr("being changed"));
    EXPECT_EQ(findings[kWifi], "info, docs/reasons.md: binding");
  }
  EXPECT_TRUE(watch.says("state=binding")) << watch.output();
  EXPECT_EQ(change->wait(), 3);
  EXPECT_EQ(listed()[kWifi].at("state"), "write-stuck");
  EXPECT_THAT(list({"list", "--state", "write-stuck"}).text, HasSubstr(kWifi));
  EXPECT_THAT(list({"show", kWifi}).text, HasSubstr("has not come back"));
  EXPECT_EQ(judged()[kWifi], "warning, docs/reasons.md: write-stuck");
  EXPECT_TRUE(watch.says("state=write-stuck")) << watch.output();
  ASSERT_EQ(node_->ctl("unhang"), "ok\n");
  ASSERT_EQ(node_->ctl("await-waiting 0"), "ok\n");
  EXPECT_EQ(listed()[kWifi].at("state"), "passable");
  EXPECT_TRUE(watch.says("driver=vfio-pci state=passable")) << watch.output();
}

TEST_F(Hang, WhenItComesBackItIsMended) {
  getStuck();
  ASSERT_EQ(node_->ctl("unhang"), "ok\n");
  ASSERT_EQ(node_->ctl("await-waiting 0"), "ok\n");
  EXPECT_EQ(node_->driverOf(kWifi), "vfio-pci") << "it happened after all";
  const Ended wifi = node_->change({"unbind", kWifi});
  EXPECT_EQ(wifi.code, 0) << wifi.text;
  EXPECT_EQ(node_->change({"unbind", kGpu}).code, 0);
  EXPECT_EQ(node_->state(), before_);
  expectGoodLog();
}

// I8: told to end amid a change, privd brings it to its end and then ends in order.
TEST_F(Hang, I8_ADaemonThatIsToldToEndAmidAChangeEndsItFirst) {
  node_->kill();
  ASSERT_EQ(node_->ctl("hang-nth 3"), "ok\n");
  node_->launch({"--allow", "8086:2723", "--declare", std::string(kWifi) + "=8086:2723"});
  ASSERT_EQ(node_->ctl("await-waiting 1"), "ok\n");
  node_->daemon().signal(SIGTERM);
  EXPECT_EQ(node_->daemon().wait(), 0) << node_->daemon().output();
  EXPECT_TRUE(node_->daemon().says("event=stopped"));
  EXPECT_EQ(node_->audit().back().at("outcome"), "stuck");
  ASSERT_EQ(node_->ctl("unhang"), "ok\n");
}

TEST_F(Hang, OneOfTheDaemonsThatComesBackIsToldAndRecorded) {
  node_->kill();
  ASSERT_EQ(node_->ctl("hang-nth 3"), "ok\n");
  node_->launch({"--allow", "8086:2723", "--declare", std::string(kWifi) + "=8086:2723"});
  EXPECT_TRUE(node_->daemon().says("event=write_stuck")) << node_->daemon().output();
  ASSERT_EQ(node_->ctl("unhang"), "ok\n");
  EXPECT_TRUE(node_->daemon().says("event=write_ended_late")) << node_->daemon().output();
  // The log line comes before the record, and the end after both.
  node_->daemon().signal(SIGTERM);
  EXPECT_TRUE(node_->daemon().says("event=stopped")) << node_->daemon().output();
  std::size_t late = 0;
  for (const auto& record : node_->audit()) {
    if (record.at("kind") != "note" || record.at("operation") != "late-end") continue;
    ++late;
    EXPECT_EQ(record.at("text"), "a write that was stuck came back: written");
  }
  EXPECT_EQ(late, 1U);
  EXPECT_EQ(node_->driverOf(kWifi), "vfio-pci") << "it happened after all";
  expectGoodLog();
}

TEST_F(Hang, OneThatFailsInTheEndIsRecordedWithItsError) {
  node_->kill();
  ASSERT_EQ(node_->ctl("hang-nth 3"), "ok\n");
  node_->launch({"--allow", "8086:2723", "--declare", std::string(kWifi) + "=8086:2723"});
  EXPECT_TRUE(node_->daemon().says("event=write_stuck")) << node_->daemon().output();
  ASSERT_EQ(node_->ctl(std::string("unplug ") + kWifi), "ok\n");
  ASSERT_EQ(node_->ctl("unhang"), "ok\n");
  EXPECT_TRUE(node_->daemon().says("event=write_ended_late")) << node_->daemon().output();
  node_->daemon().signal(SIGTERM);
  EXPECT_TRUE(node_->daemon().says("event=stopped")) << node_->daemon().output();
  const auto log = node_->audit();
  const auto late = std::ranges::find_if(log, [](const nlohmann::json& record) {
    return record.at("kind") == "note" && record.at("operation") == "late-end";
  });
  ASSERT_NE(late, log.end());
  EXPECT_EQ(late->at("text"), "a write that was stuck came back: No such device");
}

TEST_F(Hang, AnUnbindThatHangsOnOneFunctionGivesTheOtherBack) {
  ASSERT_EQ(bindGpu().code, 0);
  ASSERT_EQ(node_->ctl(std::string("hang ") + kAudio + " bind"), "ok\n");
  const Ended ended = node_->change({"unbind", kGpu, "-o", "json"});
  EXPECT_EQ(ended.code, 3) << ended.text;
  const auto report = ended.json();
  ASSERT_TRUE(report.is_object()) << ended.text;
  EXPECT_EQ(report.at("outcome"), "stuck");
  EXPECT_EQ(node_->driverOf(kGpu), "vfio-pci") << "a change that failed is undone";
  ASSERT_EQ(node_->ctl("unhang"), "ok\n");
  ASSERT_EQ(node_->ctl("await-waiting 0"), "ok\n");
  const Ended again = node_->change({"unbind", kGpu});
  EXPECT_EQ(again.code, 0) << again.text;
  EXPECT_EQ(node_->state(), before_);
}

}  // namespace
}  // namespace vfiogate::test
