// What is offered, what is not and why, and resources without anything to offer.

#include "tests/support/ledger_node.h"

namespace vfiogate::test {
namespace {

using std::chrono::seconds;

constexpr const char* kCard = "0000:01:00.0";
constexpr const char* kOther = "0000:02:00.0";

class Offering : public testing::Test {
protected:
  ~Offering() noexcept override = default;

  void begin() {
    node.offer("10de:2684", "gpu");
    node.hardware.add(kCard, 7);
    node.hardware.add(kOther, 8);
    node.start();
    node.journal.clear();
  }
  void bindTo(const char* driver) {
    PciDevice& device = node.hardware.device(kCard);
    device.driver = driver;
    device.vfioDev.reset();
    if (std::string(driver) == "vfio-pci") device.vfioDev = 5;
    node.see();
  }
  void flip(int times) {
    for (int i = 0; i < times; ++i) {
      bindTo(i % 2 == 0 ? "nvidia" : "vfio-pci");
      node.pass(seconds(1));
    }
  }
  /// "withheld host-driver 0000:01:00.0; ..."
  std::string told() const {
    std::string all;
    for (const JournalEvent& event : node.journal) {
      if (event.event != "offered" && event.event != "withheld") continue;
      all += (all.empty() ? "" : "; ") + event.event + " " + event.reason;
      for (const UnitId& id : event.ids) all += " " + id.str();
    }
    return all;
  }

  LedgerNode node;
};

TEST_F(Offering, TheStartTellsOnceWhyEachDeviceIsNotOffered) {
  node.offer("10de:2684", "gpu");
  node.hardware.add(kCard, 7);
  node.hardware.add(kOther, 8).driver = "nvidia";
  node.hardware.device(kOther).vfioDev.reset();
  node.hardware.add("0000:00:01.0", 1).headerType = std::uint8_t{1};
  node.hardware.add("0000:00:02.0", 2).headerType = std::uint8_t{1};
  node.start();
  EXPECT_EQ(told(),
            "offered ready 0000:01:00.0; withheld bridge 0000:00:01.0 0000:00:02.0; "
            "withheld host-driver 0000:02:00.0");
  node.journal.clear();
  node.see();
  node.pass(seconds(120));
  EXPECT_EQ(told(), "");
}

TEST_F(Offering, AStartDoesNotTellOfWhatAPodHasAsOffered) {
  node.offer("10de:2684", "gpu");
  node.hardware.add(kCard, 7);
  node.hardware.add(kOther, 8);
  node.record("pod-1", "gpu", {kCard});
  node.start();
  EXPECT_EQ(told(), "offered ready 0000:02:00.0");
  ASSERT_FALSE(node.journal.empty());
  EXPECT_EQ(node.journal.front().event, "adopted") << "who has what is read first";
  bindTo("nvidia");
  EXPECT_EQ(told(), "offered ready 0000:02:00.0; withheld host-driver 0000:01:00.0");
}

TEST_F(Offering, EveryChangeOfTheReasonIsTold) {
  begin();
  bindTo("nvidia");
  bindTo("");
  bindTo("vfio-pci");
  node.hardware.remove(kCard);
  node.see();
  EXPECT_EQ(told(),
            "withheld host-driver 0000:01:00.0; withheld no-driver 0000:01:00.0; "
            "offered ready 0000:01:00.0; withheld gone 0000:01:00.0");
}

TEST_F(Offering, I2_ADeviceThatFlapsRestsUntilItIsSteady) {
  begin();
  flip(10);
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0+ 0000:02:00.0+");
  flip(2);
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0- 0000:02:00.0+") << "bound, but it flaps";
  EXPECT_NE(told().find("withheld flapping 0000:01:00.0"), std::string::npos) << told();
  const std::size_t before = node.journal.size();
  node.pass(seconds(28));
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0- 0000:02:00.0+");
  node.pass(seconds(2));
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0+ 0000:02:00.0+");
  ASSERT_EQ(node.journal.size(), before + 1);
  EXPECT_EQ(node.journal.back().event, "offered");
}

TEST_F(Offering, WhileItRestsEachChangeBeginsTheRestAnew) {
  begin();
  flip(12);
  node.pass(seconds(25));
  flip(2);
  node.pass(seconds(25));
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0- 0000:02:00.0+");
  node.pass(seconds(5));
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0+ 0000:02:00.0+");
}

TEST_F(Offering, ChangesFarApartAreNoFlapping) {
  begin();
  for (int i = 0; i < 40; ++i) {
    bindTo(i % 2 == 0 ? "nvidia" : "vfio-pci");
    node.pass(seconds(7));
  }
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0+ 0000:02:00.0+");
}

TEST_F(Offering, I3_AHeldDeviceThatFlapsStaysHealthyInItsFrame) {
  begin();
  ASSERT_EQ(node.allocate("gpu", {kCard}), "granted");
  node.record("pod-1", "gpu", {kCard});
  node.write();
  flip(20);
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0+ 0000:02:00.0+");
}

TEST_F(Offering, AReloadIsNoFlapping) {
  begin();
  for (int i = 0; i < 30; ++i) {
    const ResourceSettings entry = node.settings.resources.front();
    Settings other = node.settings;
    if (i % 2 == 0) other.exclude.push_back(*Selector::parse("10de:2684"));
    node.run(
        node.ledger.reconfigured({}, sortIntoResources(other, node.facts.snapshot), {}, node.now));
    node.pass(seconds(1));
  }
  EXPECT_EQ(told().find("flapping"), std::string::npos);
}

class EmptyResource : public Offering {
protected:
  ~EmptyResource() noexcept override = default;
  void begin(seconds after) {
    LedgerSettings settings;
    settings.emptyResourceAfter = after;
    node = LedgerNode(settings);
    Offering::begin();
  }
  void unplug() {
    node.hardware.remove(kCard);
    node.hardware.remove(kOther);
    node.see();
  }
};

TEST_F(EmptyResource, NeverEndsUnlessTheSettingsSaySo) {
  begin(seconds(0));
  unplug();
  node.pass(std::chrono::hours(24));
  EXPECT_EQ(node.frame("gpu"), "");
}

TEST_F(EmptyResource, EndsAfterItsTimeAndComesBack) {
  begin(seconds(300));
  unplug();
  node.pass(seconds(60 + 10 + 299));
  EXPECT_EQ(node.frame("gpu"), "") << "60 s in the frame, 10 s at rest, then empty";
  node.move(seconds(1));
  node.run(node.ledger.tick(node.now));
  EXPECT_EQ(node.frame("gpu"), "none");
  EXPECT_EQ(node.last.ended, std::set<ResourceName>{resource("gpu")});
  node.hardware.add(kCard, 7);
  node.see();
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0+");
  EXPECT_TRUE(node.last.frames.contains(resource("gpu"))) << "a new stream gets it";
}

TEST_F(EmptyResource, I3_StaysWhileADeviceOfItIsHeld) {
  begin(seconds(1));
  ASSERT_EQ(node.allocate("gpu", {kCard}), "granted");
  node.record("pod-1", "gpu", {kCard});
  node.write();
  unplug();
  node.pass(seconds(3600));
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0-");
}

TEST_F(EmptyResource, StaysForADeviceThatIsThereButCannotBeAllocated) {
  begin(seconds(1));
  bindTo("nvidia");
  node.hardware.remove(kOther);
  node.see();
  node.pass(seconds(3600));
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0-");
}

}  // namespace
}  // namespace vfiogate::test
