#include "plugind/loop/ledger_journal.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <sstream>

namespace vfiogate {
namespace {

const ResourceName kResource = *ResourceName::parse("vfiogate.dev/10de_2684");
const std::chrono::sys_seconds kMorning{std::chrono::seconds(1'795'254'127)};

Bdf address(const char* text) {
  return *Bdf::parse(text);
}

nlohmann::json written(const JournalEvent& event) {
  std::ostringstream out;
  LedgerJournal(out).write(event);
  EXPECT_EQ(std::ranges::count(out.str(), '\n'), 1) << "one line an event";
  return nlohmann::json::parse(out.str());
}

TEST(LedgerJournal, WritesAnAllocationWithItsGroupDevicesAndHolder) {
  JournalEvent event;
  event.event = event.reason = "allocated";
  event.time = kMorning;
  event.group = IommuGroupId(31);
  event.resource = kResource;
  event.ids = {address("0000:65:00.0")};
  event.members = {address("0000:65:00.0"), address("0000:65:00.1")};
  event.ref = HolderRef(0x7f3a);
  event.podName = "default/vm-1";
  EXPECT_EQ(written(event), nlohmann::json::parse(R"({
    "time": "2026-11-21T09:42:07Z", "event": "allocated", "reason": "allocated",
    "resource": "vfiogate.dev/10de_2684", "group": 31, "devices": ["0000:65:00.0"],
    "members": ["0000:65:00.0", "0000:65:00.1"], "ref": "7f3a", "pod": "default/vm-1"})"));
}

TEST(LedgerJournal, WritesARefusalOfIdsThatAreNoText) {
  JournalEvent event;
  event.event = "refused";
  event.reason = "not-shown";
  event.time = kMorning;
  event.resource = kResource;
  event.foreignIds = {"\xff\n\""};
  const auto line = written(event);
  EXPECT_EQ(line.at("event"), "refused");
  EXPECT_EQ(line.at("reason"), "not-shown");
  EXPECT_EQ(line.at("ids").at(0), "\xef\xbf\xbd\n\"");
}

TEST(LedgerJournal, CutsWhatStrangersMakeLong) {
  JournalEvent event;
  event.event = event.reason = "refused";
  event.time = kMorning;
  event.text = std::string(1 << 20, '\x01');
  event.foreignIds.assign(100'000, std::string(4096, '\x01'));
  for (unsigned i = 0; i < 256; ++i) {
    event.members.insert(*Bdf::make(0, static_cast<std::uint8_t>(i), 0, 0));
  }
  event.ids = event.rest = event.members;
  std::ostringstream out;
  LedgerJournal(out).write(event);
  EXPECT_LT(out.str().size(), 16U << 10U);
  const auto line = nlohmann::json::parse(out.str());
  EXPECT_EQ(line.at("members").size(), 64U);
  EXPECT_EQ(line.at("ids").size(), 16U);
  EXPECT_EQ(line.at("cut"), true);
}

TEST(LedgerJournal, SaysNothingOfCutsWhereNothingIsCut) {
  JournalEvent event;
  event.time = kMorning;
  event.text = std::string(1024, 'x');
  EXPECT_FALSE(written(event).contains("cut"));
}

}  // namespace
}  // namespace vfiogate
