#include "plugind/core/resource/resource_catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/hardware.h"
#include "tests/unit/plugind/resource/resource_cases.h"

namespace vfiogate {
namespace {

using test::at;
using test::entry;
using test::Hardware;
using test::offering;
using test::placeOf;

/// What cards have told: a text that is empty of one that tells none; those that are not named have
/// not answered.
SerialNumbers serialsOf(const Hardware& hardware, std::map<std::string, std::string> told) {
  SerialNumbers serials;
  serials.seen(hardware.snapshot());
  for (const auto& [address, text] : told) {
    serials.want({at(address)});
    const auto question = serials.next(Instant()).at(0);
    using Found = SerialAnswer::Found;
    serials.told(question, {text.empty() ? Found::kNone : Found::kSerial, text}, Instant());
  }
  return serials;
}

Hardware twoDrives() {
  Hardware hardware;
  hardware.add("0000:01:00.0", 1);
  hardware.add("0000:02:00.0", 2);
  return hardware;
}

TEST(SerialSelection, OneCardIsSelectedByItsSerialNumber) {
  const Hardware hardware = twoDrives();
  const Settings settings =
      offering({entry("vendor=10de,serial=MT1", "a.b/mine"), entry("vendor=10de", "a.b/others")});
  EXPECT_TRUE(wantsSerials(settings));
  EXPECT_FALSE(wantsSerials(offering({entry("vendor=10de")})));
  const auto sorted = [&](const std::map<std::string, std::string>& told) {
    return sortIntoResources(settings, hardware.snapshot(), ModelNames(),
                             serialsOf(hardware, told));
  };
  const auto both = sorted({{"0000:01:00.0", "MT1"}, {"0000:02:00.0", "MT2"}});
  EXPECT_EQ(placeOf(both, "0000:01:00.0"), "a.b/mine");
  EXPECT_EQ(placeOf(both, "0000:02:00.0"), "a.b/others");
  EXPECT_TRUE(both.unknownSerials.empty());
  const auto none = sorted({{"0000:01:00.0", ""}, {"0000:02:00.0", "MT1"}});
  EXPECT_EQ(placeOf(none, "0000:01:00.0"), "a.b/others") << "the place is another card's now";
  EXPECT_EQ(placeOf(none, "0000:02:00.0"), "a.b/mine");
}

// I1: else a drive that is somebody's would be anybody's until it has answered.
TEST(SerialSelection, I1_ACardWhoseSerialNumberIsNotKnownIsInNoLaterEntryEither) {
  const Hardware hardware = twoDrives();
  const auto catalog = sortIntoResources(
      offering({entry("serial=MT1", "a.b/mine"), entry("vendor=10de", "a.b/others")}),
      hardware.snapshot(), ModelNames(), serialsOf(hardware, {{"0000:02:00.0", "MT2"}}));
  EXPECT_EQ(placeOf(catalog, "0000:01:00.0"), "-serial-unknown");
  EXPECT_EQ(catalog.leftOut.at(at("0000:01:00.0")).text,
            "resources[0] selects by serial, and the serial number of 0000:01:00.0 is not known: "
            "the card is being asked");
  EXPECT_EQ(placeOf(catalog, "0000:02:00.0"), "a.b/others");
  EXPECT_EQ(catalog.unknownSerials, std::set<Bdf>{at("0000:01:00.0")});
}

TEST(SerialSelection, NobodyIsAskedForANumberThatDecidesNothing) {
  Hardware hardware = twoDrives();
  hardware.device("0000:02:00.0").vendor = std::uint16_t{0x8086};
  hardware.add("0000:03:00.0", 3).headerType = std::uint8_t{1};
  const auto catalog = sortIntoResources(
      offering({entry("numa=4,serial=MT1", "a.b/far"), entry("vendor=10de", "a.b/all"),
                entry("vendor=10de,serial=MT1", "a.b/mine"),
                entry("vendor=8086,serial=MT1", "a.b/other")}),
      hardware.snapshot());
  EXPECT_EQ(placeOf(catalog, "0000:01:00.0"), "a.b/all") << "an entry before takes it";
  EXPECT_EQ(catalog.unknownSerials, std::set<Bdf>{at("0000:02:00.0")});
}

TEST(SerialSelection, I1_WhatMayBeExcludedIsNotOffered) {
  const Hardware hardware = twoDrives();
  Settings settings = offering({entry("vendor=10de", "a.b/all")});
  settings.exclude = {*Selector::parse("serial=MT1")};
  const auto unknown = sortIntoResources(settings, hardware.snapshot());
  EXPECT_EQ(placeOf(unknown, "0000:01:00.0"), "-serial-unknown");
  EXPECT_EQ(unknown.leftOut.at(at("0000:01:00.0")).text,
            "exclude[0] selects by serial, and the serial number of 0000:01:00.0 is not known: "
            "the card is being asked");
  const auto known =
      sortIntoResources(settings, hardware.snapshot(), ModelNames(),
                        serialsOf(hardware, {{"0000:01:00.0", "MT1"}, {"0000:02:00.0", ""}}));
  EXPECT_EQ(placeOf(known, "0000:01:00.0"), "-excluded");
  EXPECT_EQ(placeOf(known, "0000:02:00.0"), "a.b/all") << "it tells none";
}

TEST(SerialSelection, ExplainsThatACardTellsNoSerialNumber) {
  const Hardware hardware = twoDrives();
  const auto catalog =
      sortIntoResources(offering({entry("serial=MT1", "a.b/mine")}), hardware.snapshot(),
                        ModelNames(), serialsOf(hardware, {{"0000:01:00.0", ""}}));
  EXPECT_EQ(placeOf(catalog, "0000:01:00.0"), "-unmatched");
  EXPECT_EQ(catalog.leftOut.at(at("0000:01:00.0")).text,
            "no entry of resources selects it; the card tells no serial number, so serial cannot");
}

TEST(SerialSelection, AMediatedDeviceIsSelectedByItsParentsSerialNumber) {
  const std::string uuid = "3f5e2c10-0001-4a5b-8c6d-000000000001";
  Hardware hardware;
  hardware.add("0000:11:00.0", 1);
  hardware.addMediated(uuid, "0000:11:00.0", "nvidia-711", 60);
  Settings settings =
      offering({entry("serial=MT1", "a.b/whole"), entry("mdev=nvidia-711,serial=MT1", "a.b/part"),
                entry("mdev=*", "a.b/parts")});
  const UnitId part(*Uuid::parse(uuid));
  const auto resource = [&](const SerialNumbers& serials) {
    const auto catalog = sortIntoResources(settings, hardware.snapshot(), ModelNames(), serials);
    const auto why = catalog.leftOut.find(part);
    if (why != catalog.leftOut.end()) return "-" + why->second.reason;
    return resourceOf(catalog, part)->str();
  };
  EXPECT_EQ(resource(SerialNumbers()), "-serial-unknown");
  EXPECT_EQ(resource(serialsOf(hardware, {{"0000:11:00.0", "MT1"}})), "a.b/part");
  EXPECT_EQ(resource(serialsOf(hardware, {{"0000:11:00.0", "MT2"}})), "a.b/parts");
  settings.exclude = {*Selector::parse("serial=MT2")};
  EXPECT_EQ(resource(SerialNumbers()), "-serial-unknown");
  EXPECT_EQ(resource(serialsOf(hardware, {{"0000:11:00.0", "MT2"}})), "-excluded");
}

TEST(SerialSelection, ASetHasACardWhoseSerialNumberIsNotKnownUnlessItMayBeExcluded) {
  const Hardware hardware = twoDrives();
  ResourceSettings sets;
  sets.name = ResourceName::parse("a.b/pair");
  sets.sets = {{"both", {UnitId(at("0000:01:00.0")), UnitId(at("0000:02:00.0"))}}};
  Settings settings = offering({entry("serial=MT1", "a.b/mine"), sets});
  EXPECT_EQ(placeOf(sortIntoResources(settings, hardware.snapshot()), "0000:01:00.0"), "a.b/pair");
  settings.exclude = {*Selector::parse("serial=MT1")};
  EXPECT_EQ(placeOf(sortIntoResources(settings, hardware.snapshot()), "0000:01:00.0"),
            "a.b/pair-serial-unknown");
}

}  // namespace
}  // namespace vfiogate
