#include "plugind/ledger_journal.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>

namespace vfiogate {
namespace {

const ResourceName kResource = *ResourceName::parse("vfiogate.dev/10de_2684");
const std::chrono::sys_seconds kMorning{std::chrono::seconds(1'795'254'127)};

Bdf address(const char* text) {
  return *Bdf::parse(text);
}

TEST(LedgerJournal, WritesOneLinePerGroupLent) {
  std::ostringstream out;
  Grant grant;
  for (const HolderRef ref : {HolderRef(0x7f3a), HolderRef(1)}) {
    grant.records.push_back({.resource = kResource,
                             .ids = {address("0000:65:00.0")},
                             .rest = {},
                             .members = {address("0000:65:00.0"), address("0000:65:00.1")},
                             .answeredAt = kMorning,
                             .ref = ref});
  }
  LedgerJournal(out).lent(grant);
  std::istringstream lines(out.str());
  std::string first;
  std::string second;
  std::string third;
  ASSERT_TRUE(std::getline(lines, first) && std::getline(lines, second));
  EXPECT_FALSE(std::getline(lines, third));
  EXPECT_EQ(nlohmann::json::parse(first), nlohmann::json::parse(R"({
    "time": "2026-11-21T09:42:07Z", "event": "lent", "resource": "vfiogate.dev/10de_2684",
    "devices": ["0000:65:00.0"], "rest": [], "members": ["0000:65:00.0", "0000:65:00.1"],
    "ref": "7f3a"})"));
  EXPECT_EQ(nlohmann::json::parse(second).at("ref"), "0001");
}

TEST(LedgerJournal, WritesARefusalOfIdsThatAreNoText) {
  std::ostringstream out;
  LedgerJournal(out).refused(kMorning, kResource, {"\xff\n\""}, {"not-shown", "unknown"});
  const std::string line = out.str();
  EXPECT_EQ(std::ranges::count(line, '\n'), 1);
  const auto event = nlohmann::json::parse(line);
  EXPECT_EQ(event.at("event"), "refused");
  EXPECT_EQ(event.at("reason"), "not-shown");
  EXPECT_EQ(event.at("ids").at(0), "\xef\xbf\xbd\n\"");
}

}  // namespace
}  // namespace vfiogate
