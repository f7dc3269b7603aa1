// Deps of the machine itself, and what hangs behind a controller: shown, advised and bound, or
// not.

#include "tests/integration/bind/bind_case.h"

#include <fstream>

namespace vfiogate::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kChipset = "chipset.yaml";
constexpr const char* kHostBridge = "0000:00:00.0";
constexpr const char* kIsaBridge = "0000:00:1f.0";
constexpr const char* kUsbOfPeople = "0000:00:14.0";
constexpr const char* kUsbOfDisks = "0000:00:15.0";
constexpr const char* kUsbOfACamera = "0000:00:16.0";

class BindPlatform : public EitherWay<BindCase> {
protected:
  void expectRefused(const std::vector<std::string>& command, const std::string& why) const {
    const Ended ended = node_->change(command);
    EXPECT_EQ(ended.code, 1) << ended.text;
    EXPECT_THAT(ended.text, AllOf(HasSubstr("refused, nothing was written"), HasSubstr(why)));
    EXPECT_THAT(node_->writes(), IsEmpty());
  }
};

TEST_P(BindPlatform, TheChipsetIsBoundOnlyWhereEachPartIsNamed) {
  bringUp(kChipset);
  expectRefused({"bind", kHostBridge}, "platform");
  expectRefused({"bind", kIsaBridge, "--override", "platform"}, "0000:00:1f.4  platform");
  // Who wants the sound card gets the whole chipset with it.
  expectRefused({"bind", "0000:00:1f.3"}, "0000:00:1f.5  platform");
  const Ended bound = node_->change({"bind", kHostBridge, "--override", "platform=0000:00:00.0"});
  EXPECT_EQ(bound.code, 0) << bound.text;
  EXPECT_EQ(node_->driverOf(kHostBridge), "vfio-pci");
}

TEST_P(BindPlatform, AnEmptyHostBridgeBesideACardIsLeftAlone) {
  bringUp(kChipset);
  const Ended bound = node_->change({"bind", "0000:01:00.0"});
  EXPECT_EQ(bound.code, 0) << bound.text;
  EXPECT_EQ(node_->driverOf("0000:00:01.0"), "none");
}

TEST_P(BindPlatform, AUsbControllerWithTheHostsNetworkAndKeyboardIsKept) {
  bringUp(kChipset);
  expectRefused({"bind", kUsbOfPeople}, "interface enx0 is up");
  expectRefused({"bind", kUsbOfPeople}, "a keyboard or mouse hangs on it: input5");
  expectRefused({"bind", kUsbOfPeople, "--override", "console"}, "interface enx0 is up");
  expectRefused({"bind", kUsbOfDisks}, "sda1 carries a mounted ext4");
  const Ended bound = node_->change({"bind", kUsbOfACamera});
  EXPECT_EQ(bound.code, 0) << bound.text;
}

TEST_P(BindPlatform, RoutesAreFoundBehindAUsbController) {
  bring(kChipset);
  const std::string routes = node_->file("route");
  std::ofstream(routes) << "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\n"
                        << "enx0\t00000000\t0100A8C0\t0003\t0\t0\t0\t00000000\n";
  const std::vector<std::string> given{"--host-route", routes};
  if (GetParam()) {
    ASSERT_TRUE(node_->serve(given)) << node_->daemon().output();
  }
  ASSERT_EQ(node_->ctl("link enx0 down"), "ok\n");
  expectRefused(words({"bind", kUsbOfPeople}, given), "interface enx0 routes lead through it");
}

INSTANTIATE_TEST_SUITE_P(Ways, BindPlatform, testing::Bool(), wayName);

class ListPlatform : public BindCase {};

TEST_F(ListPlatform, PartsOfTheMachineAreNeitherShownNorAdvised) {
  bring(kChipset);
  const std::vector<std::string> list{"list", "--sysfs", node_->sysfs()};
  const Ended some = BindNode::plain(list);
  EXPECT_THAT(some.text, AllOf(HasSubstr("0000:01:00.0"), Not(HasSubstr(kIsaBridge)),
                               Not(HasSubstr(kHostBridge)), Not(HasSubstr("0000:00:01.1"))));
  EXPECT_THAT(some.text, HasSubstr("6 of them are bridges and other parts of the machine: --all"));
  EXPECT_THAT(some.text, HasSubstr("0000:00:1f.3"));
  const Ended all = BindNode::plain(words(list, {"--all"}));
  EXPECT_THAT(all.text, AllOf(HasSubstr(kIsaBridge), HasSubstr(kHostBridge),
                              HasSubstr("part of the machine itself: the host needs it")));
  EXPECT_THAT(BindNode::plain(words(list, {"-o", "json"})).json().dump(),
              HasSubstr(R"("state":"platform")"));
}

}  // namespace
}  // namespace vfiogate::test
