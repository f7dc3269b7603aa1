// Which physical functions are to have how many virtual ones: the words of --vfs.

#include "privd/bind/plan/wanted_vfs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/privd/bind/topologies.h"

namespace vfiogate {
namespace {

using testing::HasSubstr;

WantedVfs wanted(const char* text) {
  const auto parsed = parseVfs(text);
  EXPECT_TRUE(parsed) << text;
  return parsed ? *parsed : WantedVfs{};
}

TEST(WantedVfs, AreOfAnAddressOrOfASelector) {
  EXPECT_EQ(wanted("0000:3b:00.0=8").count, 8U);
  EXPECT_EQ(wanted("0000:3b:00.0=8").which, *Selector::parse("address=0000:3b:00.0"));
  EXPECT_EQ(wanted("3b:00.0=8").which, *Selector::parse("address=0000:3b:00.0"));
  EXPECT_EQ(wanted("8086:1593=64").which, *Selector::parse("8086:1593"));
  EXPECT_EQ(wanted("vendor=8086,class=02=1").which, *Selector::parse("vendor=8086,class=02"));
  EXPECT_EQ(wanted("vendor=8086,class=02=1").count, 1U);
}

TEST(WantedVfs, OfAnotherFormAreRefusedWithWhatWouldMendIt) {
  for (const auto& [text, says] :
       {std::pair("", "say how many of which card: ADDRESS=NUMBER"),
        {"0000:3b:00.0", "say how many of which card: ADDRESS=NUMBER"},
        {"0000:3b:00.0=", "say how many of which card"},
        {"0000:3b:00.0=many", "say how many of which card"},
        {"0000:3b:00.0=-1", "say how many of which card"},
        {"0000:3b:00.0=65536", "say how many of which card"},
        {"0000:3b:00.0=0", "privd ends no virtual functions: leave it out"},
        {"0000:3b:00.9=8", "0000:3b:00.9"},
        {"product=X710=8", "product"},
        {"mdev=nvidia-256=8", "mdev"},
        {"=8", "found \"\""}}) {
    const auto parsed = parseVfs(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_THAT(parsed.error(), HasSubstr(says)) << text;
  }
}

TEST(WantedVfs, AreAboutPhysicalFunctionsAlone) {
  const Topology one = networkCard();
  const PciDevice& card = one.snapshot.devices.at(at("0000:05:00.0"));
  const PciDevice& part = one.snapshot.devices.at(at("0000:05:01.0"));
  EXPECT_TRUE(isAbout(wanted("vendor=10de=4"), card));
  EXPECT_FALSE(isAbout(wanted("vendor=10de=4"), part)) << "a virtual function";
  EXPECT_FALSE(isAbout(wanted("0000:05:00.1=4"), card)) << "another address";
  PciDevice plain = card;
  plain.sriov = SriovRole::kNone;
  EXPECT_FALSE(isAbout(wanted("0000:05:00.0=4"), plain)) << "it has no virtual functions at all";
}

TEST(WantedVfs, TheFirstThatIsAboutAFunctionCounts) {
  const Topology one = networkCard();
  const PciDevice& card = one.snapshot.devices.at(at("0000:05:00.0"));
  EXPECT_EQ(vfsFor(card, {wanted("0000:06:00.0=1"), wanted("05:00.0=2"), wanted("class=02=3")}),
            2U);
  EXPECT_EQ(vfsFor(card, {wanted("0000:06:00.0=1")}), std::nullopt);
  EXPECT_EQ(vfsFor(card, {}), std::nullopt);
}

}  // namespace
}  // namespace vfiogate
