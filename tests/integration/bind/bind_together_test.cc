// A daemon and commands change drivers side by side, and are killed at it.

#include "tests/integration/bind/bind_case.h"

#include <algorithm>
#include <csignal>
#include <memory>
#include <random>

namespace vfiogate::test {
namespace {

class Together : public BindCase {
protected:
  static constexpr int kRounds = 40;

  std::vector<std::string> anyCommand() {
    switch (random_() % 6) {
      case 0:
        return {"bind", kWifi};
      case 1:
        return {"unbind", kWifi};
      case 2:
        return words({"bind", kGpu}, kLiftGpu);
      case 3:
        return {"unbind", kAudio};
      case 4:
        return {"hold", kWifi, "--reason", "round"};
      default:
        return {"release", kWifi};
    }
  }
  void startDaemon() {
    ASSERT_TRUE(node_->serve({"--allow", "8086:2723", "--declare", "8086:2723"}))
        << node_->daemon().output();
  }
  /// One to three commands at once; one may be killed, and the daemon.
  void round() {
    std::vector<std::unique_ptr<ChildProcess>> commands;
    for (auto count = 1 + random_() % 3; count > 0; --count) {
      commands.push_back(node_->begin(anyCommand()));
    }
    if (random_() % 3 == 0) commands.at(random_() % commands.size())->signal(SIGKILL);
    if (random_() % 6 == 0) {
      node_->kill();
      startDaemon();
    }
    for (const auto& command : commands) command->wait();
  }

  const unsigned seed_ = std::random_device{}();
  std::mt19937 random_{seed_};
};

TEST_F(Together, I7_WhoeverIsKilledTheLogIsWholeAndAnUnbindMendsIt) {
  SCOPED_TRACE("seed " + std::to_string(seed_));
  bring(kLaptop);
  startDaemon();
  for (int i = 0; i < kRounds && !HasFatalFailure(); ++i) round();
  node_->kill();
  ASSERT_EQ(node_->ctl("await-waiting 0"), "ok\n");
  expectGoodLog();
  // Nothing was written that no intent says.
  const auto intended = node_->intended();
  std::vector<SeenWrite> announced = intended;
  for (const auto& record : node_->audit()) {
    if (record.at("kind") != "intent") continue;
    for (auto& write : writesIn(record.at("undo"))) announced.push_back(std::move(write));
  }
  for (const SeenWrite& write : node_->writes()) {
    EXPECT_NE(std::ranges::find(announced, write), announced.end()) << write.attribute;
  }
  for (const char* address : {kWifi, kGpu}) {
    const Ended back = node_->change({"unbind", address});
    EXPECT_EQ(back.code, 0) << back.text;
  }
  EXPECT_EQ(node_->driverOf(kWifi), "iwlwifi");
  EXPECT_NE(node_->driverOf(kGpu), "vfio-pci");
  expectGoodLog();
}

}  // namespace
}  // namespace vfiogate::test
