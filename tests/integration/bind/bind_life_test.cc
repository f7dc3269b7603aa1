// A binding's life as an operator has it: there and back, over restarts and reboots.

#include "tests/integration/bind/bind_case.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace vfiogate::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// On vfio-pci from boot; a driver for it alone is loaded.
constexpr const char* kVariant = "0000:53:00.0";
constexpr const char* kOther = "0000:57:00.0";  // on vfio-pci from boot, too

class Life : public EitherWay<BindCase> {};

class Restart : public BindCase {
protected:
  /// Changes the line of `key` in the record of what privd bound at the Wi-Fi card's address.
  void editRecord(const std::string& key, const std::string& value) const {
    const std::string path = node_->stateDir() + "/bindings/" + kWifi;
    std::ifstream file(path);
    ASSERT_TRUE(file.is_open()) << path;
    std::ostringstream text;
    for (std::string line; std::getline(file, line);) {
      text << (line.starts_with(key + "=") ? key + "=" + value : line) << "\n";
    }
    std::ofstream(path) << text.str();
  }
};

TEST_P(Life, ABindAndAnUnbindLeaveEverythingAsItWas) {
  bringUp(kLaptop);
  const TreeState before = node_->state();
  ASSERT_EQ(bindGpu().code, 0);
  EXPECT_EQ(node_->driverOf(kGpu), "vfio-pci");
  EXPECT_EQ(node_->driverOf(kAudio), "vfio-pci") << "the group is the unit";
  const Ended again = node_->change({"bind", kGpu});
  EXPECT_EQ(again.code, 0) << again.text;
  const Ended back = node_->change({"unbind", kAudio});
  EXPECT_EQ(back.code, 0) << back.text;
  EXPECT_EQ(node_->state(), before);
  EXPECT_EQ(node_->ctl("writes clear"), "ok\n");
  EXPECT_EQ(node_->change({"unbind", kGpu}).code, 0) << "already so";
  EXPECT_THAT(node_->writes(), IsEmpty());
}

TEST_P(Life, AnOverrideThatWasThereComesBack) {
  bringUp(kLaptop);
  ASSERT_EQ(node_->ctl(std::string("bind ") + kWifi + " iwlwifi"), "ok\n");
  const TreeState before = node_->state();
  ASSERT_EQ(before.at(kWifi), "iwlwifi iwlwifi");
  ASSERT_EQ(node_->change({"bind", kWifi}).code, 0);
  EXPECT_EQ(node_->state().at(kWifi), "vfio-pci vfio-pci");
  ASSERT_EQ(node_->change({"unbind", kWifi}).code, 0);
  EXPECT_EQ(node_->state(), before);
}

TEST_P(Life, ADryRunWritesNothingAndSaysExactlyWhatWillBeWritten) {
  bringUp(kLaptop);
  const Ended dry = bindGpu({"--dry-run", "-o", "json"});
  ASSERT_EQ(dry.code, 0) << dry.text;
  EXPECT_THAT(node_->writes(), IsEmpty());
  EXPECT_THAT(node_->audit(), IsEmpty());
  const auto said = writesIn(dry.json().at("writes"));
  ASSERT_EQ(bindGpu().code, 0);
  EXPECT_EQ(node_->writes(), said);
}

TEST_P(Life, ShortAndSeveralAddressesAreOneChange) {
  bringUp(kLaptop);
  const Ended ended = node_->change(words({"bind", "04:00.0", "01:00.1"}, kLiftGpu));
  EXPECT_EQ(ended.code, 0) << ended.text;
  for (const char* address : {kGpu, kAudio, kWifi}) {
    EXPECT_EQ(node_->driverOf(address), "vfio-pci") << address;
  }
}

TEST_P(Life, OneOfSeveralThatIsRefusedRefusesAll) {
  bringUp(kLaptop);
  const Ended ended = node_->change({"bind", kWifi, kGpu});
  EXPECT_EQ(ended.code, 1) << ended.text;
  EXPECT_THAT(node_->writes(), IsEmpty());
}

TEST_P(Life, WhatMakesNoSenseChangesNothing) {
  bringUp(kLaptop);
  const std::vector<std::pair<std::vector<std::string>, int>> kNonsense{
      {{"bind", "0000:09:00.0"}, 1},
      {{"bind", "elephant"}, 2},
      {{"bind", "0000:04:00.8"}, 2},
      {{"bind", kWifi, "--driver", "vfio-none"}, 1},
      {{"bind", kWifi, "--driver", "iwlwifi"}, 1},
      {{"bind", kWifi, "--driver", "../vfio-pci"}, 2},
      {{"bind", kWifi, "--override", "root-disk"}, 2},
      {{"bind", kWifi, "--override", "in-use"}, 2},
      {{"bind"}, 2},
      {{"bind", "0000:00:01.1"}, 1},
      {{"unbind", "0000:00:01.1"}, 1},
      {{"unbind", "0000:09:00.0"}, 1}};
  for (const auto& [command, code] : kNonsense) {
    const Ended ended = node_->change(command);
    EXPECT_EQ(ended.code, code) << testing::PrintToString(command) << "\n" << ended.text;
    EXPECT_FALSE(ended.text.empty());
  }
  EXPECT_THAT(node_->writes(), IsEmpty());
}

TEST_P(Life, ADeviceThatVanishesBetweenPlanAndWriteIsAnErrorAndNoMore) {
  bringUp(kLaptop);
  const TreeState before = node_->state();
  ASSERT_EQ(node_->ctl("hang-nth 2"), "ok\n");
  auto change = node_->begin({"bind", kWifi, "-o", "json"});
  ASSERT_EQ(node_->ctl("await-waiting 1"), "ok\n");
  ASSERT_EQ(node_->ctl(std::string("unplug ") + kWifi), "ok\n");
  ASSERT_EQ(node_->ctl("unhang"), "ok\n");
  EXPECT_THAT(change->wait(), testing::AnyOf(1, 3)) << change->outputWhole();
  EXPECT_THAT(change->outputWhole(), HasSubstr(kWifi));
  ASSERT_EQ(node_->ctl(std::string("plug ") + kWifi), "ok\n");
  EXPECT_EQ(node_->state(), before);
  EXPECT_EQ(node_->change({"bind", kWifi}).code, 0) << "it can be bound as ever";
}

TEST_P(Life, TheDriverThatTheKernelsModulesNameIsTakenUnlessAnotherIsAskedFor) {
  bring("event-sequences.yaml");
  const std::string aliases = node_->file("modules.alias");
  std::ofstream(aliases) << "alias vfio_pci:v000015B3d*sv*sd*bc*sc*i* mlx5_vfio_pci\n";
  const std::vector<std::string> there{"--module-aliases", aliases};
  if (GetParam()) {
    ASSERT_TRUE(node_->serve(there)) << node_->daemon().output();
  }
  const auto bind = [&](std::vector<std::string> command) {
    return node_->change(words(std::move(command), there));
  };
  const TreeState before = node_->state();
  const Ended ended = bind({"bind", kVariant});
  EXPECT_EQ(ended.code, 0) << ended.text;
  EXPECT_EQ(node_->driverOf(kVariant), "mlx5_vfio_pci");
  const Ended plain = bind({"bind", kVariant, "--driver", "vfio-pci"});
  EXPECT_EQ(plain.code, 0) << plain.text;
  EXPECT_EQ(node_->driverOf(kVariant), "vfio-pci");
  ASSERT_EQ(bind({"unbind", kVariant}).code, 0);
  EXPECT_EQ(node_->state(), before) << "as before the first of them";
}

INSTANTIATE_TEST_SUITE_P(Ways, Life, testing::Bool(), wayName);

TEST_P(Life, TwoCommandsAtOnceChangeDifferentGroupsAndNeverOne) {
  bringUp(kLaptop);
  ASSERT_EQ(node_->ctl("hang-nth 1"), "ok\n");
  auto first = node_->begin({"bind", kWifi});
  ASSERT_EQ(node_->ctl("await-waiting 1"), "ok\n");
  const Ended other = bindGpu();
  EXPECT_EQ(other.code, 0) << other.text;
  const std::size_t written = node_->writes().size();
  const Ended same = node_->change({"unbind", kWifi});
  EXPECT_EQ(same.code, 1) << same.text;
  EXPECT_THAT(same.text, HasSubstr("its drivers are being changed by another process"));
  EXPECT_THAT(same.text, HasSubstr("pid " + std::to_string(first->pid()) + " privd"));
  EXPECT_EQ(node_->writes().size(), written);
  ASSERT_EQ(node_->ctl("unhang"), "ok\n");
  EXPECT_EQ(first->wait(), 0) << first->outputWhole();
  expectGoodLog();
}

TEST_F(Restart, AStopOrAStartOfPrivdChangesNothingAndTheNextUnbindRestores) {
  bring(kLaptop);
  const TreeState before = node_->state();
  ASSERT_TRUE(node_->serve()) << node_->daemon().output();
  ASSERT_EQ(bindGpu().code, 0);
  const TreeState bound = node_->state();
  ASSERT_EQ(node_->ctl("writes clear"), "ok\n");
  node_->kill();
  ASSERT_TRUE(node_->serve()) << node_->daemon().output();
  node_->daemon().signal(SIGTERM);
  EXPECT_TRUE(node_->daemon().says("event=stopped"));
  node_->kill();
  EXPECT_THAT(node_->writes(), IsEmpty());
  EXPECT_EQ(node_->state(), bound);
  ASSERT_TRUE(node_->serve()) << node_->daemon().output();
  ASSERT_EQ(node_->change({"unbind", kGpu}).code, 0);
  EXPECT_EQ(node_->state(), before);
}

TEST_F(Restart, AfterARebootTheKernelChoosesAndThatIsSaid) {
  bring(kLaptop);
  const TreeState before = node_->state();
  ASSERT_EQ(node_->change({"bind", kWifi}).code, 0);
  editRecord("boot", "11111111-2222-3333-4444-555555555555");
  const Ended ended = node_->change({"unbind", kWifi});
  EXPECT_EQ(ended.code, 0) << ended.text;
  EXPECT_THAT(ended.text, HasSubstr("was bound in another boot: the kernel chooses its driver"));
  EXPECT_THAT(node_->writes(), testing::Contains(SeenWrite{"bus/pci/drivers_probe", kWifi}));
  EXPECT_EQ(node_->state(), before);
}

TEST_F(Restart, ARecordOfAnotherCardIsNotFollowed) {
  bring(kLaptop);
  const TreeState before = node_->state();
  ASSERT_EQ(node_->change({"bind", kWifi}).code, 0);
  editRecord("device", "2725");
  editRecord("former_driver", "amdgpu");
  const Ended ended = node_->change({"unbind", kWifi});
  EXPECT_EQ(ended.code, 0) << ended.text;
  EXPECT_THAT(ended.text, HasSubstr("privd did not bind it: the kernel chooses"));
  EXPECT_THAT(ended.text, Not(HasSubstr("another boot")));
  EXPECT_EQ(node_->state(), before);
}

TEST_F(Restart, ACardInThePlaceOfOneThatWasBoundHasARecordOfItsOwn) {
  bring(kLaptop);
  ASSERT_EQ(node_->change({"bind", kWifi}).code, 0);
  editRecord("device", "2725");
  editRecord("former_driver", "amdgpu");
  ASSERT_EQ(node_->ctl(std::string("unbind ") + kWifi), "ok\n");
  ASSERT_EQ(node_->change({"bind", kWifi}).code, 0);
  const Ended ended = node_->change({"unbind", kWifi});
  EXPECT_EQ(ended.code, 0) << ended.text;
  EXPECT_THAT(ended.text, HasSubstr("had no driver before, and gets none"));
  EXPECT_EQ(node_->driverOf(kWifi), "none");
}

TEST_F(Restart, ADeviceThatPrivdDidNotBindGoesToWhomTheKernelChooses) {
  bring(kLaptop);
  const TreeState before = node_->state();
  ASSERT_EQ(node_->ctl(std::string("bind ") + kWifi + " vfio-pci"), "ok\n");
  const Ended ended = node_->change({"unbind", kWifi});
  EXPECT_EQ(ended.code, 0) << ended.text;
  EXPECT_THAT(ended.text, HasSubstr("privd did not bind it: the kernel chooses"));
  EXPECT_EQ(node_->state(), before);
}

TEST_F(Restart, ADeviceThatItsVfioDriverTakesAgainIsNotGivenBack) {
  bring("event-sequences.yaml");
  std::ofstream ids(node_->sysfs() + "/bus/pci/drivers/vfio-pci/new_id");
  ASSERT_TRUE(ids << "15b3 0053" << std::flush);
  const TreeState before = node_->state();
  const Ended ended = node_->change({"unbind", kVariant});
  EXPECT_EQ(ended.code, 1) << ended.text;
  EXPECT_THAT(ended.text, HasSubstr("vfio-pci takes it again: its ids name it"));
  EXPECT_EQ(node_->audit().back().at("outcome"), "failed");
  EXPECT_EQ(node_->state(), before);
}

TEST_F(Restart, ADeviceThatAnotherVfioDriverTakesGoesBackToItsOwn) {
  bring("event-sequences.yaml");
  ASSERT_EQ(node_->ctl(std::string("bind ") + kVariant + " mlx5_vfio_pci"), "ok\n");
  std::ofstream ids(node_->sysfs() + "/bus/pci/drivers/vfio-pci/new_id");
  ASSERT_TRUE(ids << "15b3 0053" << std::flush);
  const TreeState before = node_->state();
  ASSERT_EQ(before.at(kVariant), "mlx5_vfio_pci mlx5_vfio_pci");
  const Ended ended = node_->change({"unbind", kVariant});
  EXPECT_EQ(ended.code, 1) << ended.text;
  EXPECT_THAT(ended.text, HasSubstr("vfio-pci takes it again: its ids name it"));
  EXPECT_EQ(node_->audit().back().at("outcome"), "failed");
  EXPECT_EQ(node_->state(), before);
}

TEST_F(Restart, WhatIsTakenBackIsNotSaidToHaveNoDriver) {
  bring("event-sequences.yaml");
  const TreeState before = node_->state();
  ASSERT_EQ(node_->ctl(std::string("fail bus/pci/drivers_probe EIO ") + kOther), "ok\n");
  const Ended ended = node_->change({"unbind", kVariant, kOther});
  EXPECT_EQ(ended.code, 1) << ended.text;
  EXPECT_THAT(ended.text, HasSubstr(std::string(kOther) + ": '"));
  EXPECT_THAT(ended.text, Not(HasSubstr("has no driver now")));
  EXPECT_EQ(node_->state(), before);
}

TEST_F(Restart, ADeviceThatNobodyTakesIsSaidToHaveNoDriver) {
  bring("event-sequences.yaml");
  const Ended ended = node_->change({"unbind", kVariant});
  EXPECT_EQ(ended.code, 0) << ended.text;
  EXPECT_THAT(ended.text, HasSubstr(std::string(kVariant) + ": has no driver now"));
  EXPECT_EQ(node_->driverOf(kVariant), "none");
}

}  // namespace
}  // namespace vfiogate::test
