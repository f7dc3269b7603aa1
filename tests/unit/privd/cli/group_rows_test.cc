#include "privd/cli/top/group_rows.h"

#include "tests/support/hardware.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <ctime>

namespace vfiogate {
namespace {

using test::at;
using test::Hardware;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kNow = 1'795'437'727;  // 2026-11-23T12:42:07Z

/// Two hours east.
class LinesOf : public testing::Test {
protected:
  LinesOf() {
    setenv("TZ", "XYZ-2", 1);
    tzset();
  }
  ~LinesOf() override {
    unsetenv("TZ");
    tzset();
  }
};

GroupRow rowOf(std::uint32_t group) {
  GroupRow row;
  row.group = group;
  row.state = "passable";
  row.drivers = "vfio-pci";
  row.devices = "0000:01:00.0";
  row.name = "NVIDIA AD102";
  return row;
}

TopPicture groupsPicture(unsigned groups) {
  TopPicture picture;
  picture.now = kNow;
  for (unsigned i = 0; i < groups; ++i) picture.rows.push_back(rowOf(i));
  return picture;
}

TEST(RowsOf, AreOneAGroupWithItsWorstDevice) {
  Hardware hardware;
  hardware.add("0000:01:00.0", 7);
  hardware.add("0000:01:00.1", 7);
  hardware.device("0000:01:00.1").driver = "snd_hda_intel";
  hardware.device("0000:01:00.1").vfioDev.reset();
  hardware.add("0000:02:00.0", 8);
  hardware.group(8).use = GroupUse::kOpen;
  PciDevice& bridge = hardware.add("0000:00:01.0", 9);
  bridge.headerType = std::uint8_t{1};
  RecordedHolders holders;
  holders.devices.emplace(at("0000:02:00.0"), RecordedHolder{"default/vm", "a/gpu", "T"});
  const auto rows = rowsOf({hardware.snapshot(), {}}, holders);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].state, "member-on-host-driver");
  EXPECT_EQ(rows[0].drivers, "vfio-pci,snd_hda_intel");
  EXPECT_EQ(rows[0].devices, "0000:01:00.0,0000:01:00.1");
  EXPECT_EQ(rows[0].holder, "");
  EXPECT_EQ(rows[1].state, "in-use");
  EXPECT_EQ(rows[1].holder, "default/vm");
  EXPECT_EQ(rows[1].since, "T");
}

TEST(RowsOf, AMediatedDevicesGroupIsOneOfThem) {
  const std::string uuid = "3f5e2c10-0001-4a5b-8c6d-000000000001";
  Hardware hardware;
  hardware.addMediated(uuid, "", "nvidia-711", 60);
  RecordedHolders holders;
  holders.devices.emplace(*Uuid::parse(uuid), RecordedHolder{"default/vm", "a/vgpu", "T"});
  const auto rows = rowsOf({hardware.snapshot(), {}}, holders);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].devices, uuid);
  EXPECT_EQ(rows[0].name, "nvidia-711");
  EXPECT_EQ(rows[0].drivers, "vfio_mdev");
  EXPECT_EQ(rows[0].holder, "default/vm");
}

TEST(RefusalsIn, AreNotesAndOutcomesOfAnAuditLog) {
  EXPECT_THAT(
      refusalsIn(
          {R"({"seq":1,"time":"2026-11-23T10:00:00.5Z","kind":"note","operation":"started"})",
           (R"({"seq":2,"time":"2026-11-23T10:00:01.123456789Z","kind":"note",)"
            R"("operation":"refusals","text":"3 for plugind, group 7: \u001b[2J"})"),
           (R"({"seq":3,"time":"2026-11-23T10:00:02.1Z","kind":"outcome","intent":2,)"
            R"("outcome":"refused","error":"in use"})"),
           R"({"seq":4,"time":"2026-11-23T10:00:03Z","kind":"outcome","outcome":"done"})", "torn",
           (R"({"time":"2026-11-23T10:00:03.1Z","operation":"refusals",)"
            R"("text":"1 for root uid=0, group 12: held users"})"),
           R"({"time":"2026-11-23T10:00:04.1Z","operation":"refusals","text":"others, group 3"})",
           R"(["refusals"])", R"({"operation":7,"outcome":null})"}),
      ElementsAre(
          Refusal{"2026-11-23T10:00:01Z", "a change of group 7 for plugind, 3 times: ?[2J"},
          Refusal{"2026-11-23T10:00:02Z", "in use"},
          Refusal{"2026-11-23T10:00:03Z", "a change of group 12 for root uid=0, once: held users"},
          Refusal{"2026-11-23T10:00:04Z", "others, group 3"}));
}

TEST_F(LinesOf, SaySinceWhenAndForHowLong) {
  const struct {
    const char* since;
    const char* shown;
  } kRows[] = {
      {"2026-11-23T10:42:07Z", "12:42:07  2h "},
      {"2026-11-20T10:42:07Z", "2026-11-20 12:42  3d2h "},
      {"nonsense", "-      -    "},
      {"", "-      -    "},
  };
  for (const auto& row : kRows) {
    TopPicture picture = groupsPicture(1);
    picture.rows[0].holder = "default/vm";
    picture.rows[0].since = row.since;
    EXPECT_THAT(linesOf(picture, {})[2], HasSubstr(std::string("default/vm  ") + row.shown));
  }
}

TEST_F(LinesOf, SayWhenSomethingWasRefused) {
  TopPicture picture = groupsPicture(1);
  picture.refusals = {{"2026-11-20T10:42:07Z", "old"}, {"2026-11-23T12:00:00Z", "young"}};
  const auto lines = linesOf(picture, {});
  EXPECT_EQ(lines[3], "refused 2026-11-20 12:42  old");
  EXPECT_EQ(lines[4], "refused 14:00:00  young");
}

TEST_F(LinesOf, FitTheScreen) {
  TopPicture picture = groupsPicture(40);
  picture.refusals.assign(9, {"T", "in use"});
  picture.remarks = {"holders are not known"};
  for (const std::size_t height : {1U, 2U, 5U, 12U, 24U, 200U}) {
    for (const std::size_t width : {1U, 20U, 80U}) {
      const auto lines = linesOf(picture, {width, height, 0, true});
      EXPECT_LE(lines.size(), height);
      for (const std::string& line : lines) {
        std::size_t seen = 0;
        for (std::size_t i = 0; i < line.size(); ++i) {
          if (line[i] == '\033')
            i = line.find('m', i);
          else
            ++seen;
        }
        EXPECT_LE(seen, width);
      }
    }
  }
}

TEST_F(LinesOf, ScrollToTheLastRowAndNoFurther) {
  const TopPicture picture = groupsPicture(40);
  const auto top = linesOf(picture, {80, 13, 0});
  EXPECT_THAT(top[2], testing::StartsWith("0 "));
  EXPECT_EQ(top.back(), "q quits, up and down scroll: 1 to 10 of 40");
  const auto bottom = linesOf(picture, {80, 13, 999});
  EXPECT_THAT(bottom[11], testing::StartsWith("39 "));
  EXPECT_EQ(lastFirst(picture, 13), 30U);
  EXPECT_EQ(lastFirst(picture, 0), 0U);
}

TEST_F(LinesOf, CountWhoHasWhat) {
  TopPicture picture = groupsPicture(4);
  picture.rows[0].holder = "default/vm";
  picture.rows[1].state = "in-use";
  picture.rows[2].state = "host-driver";
  EXPECT_EQ(linesOf(picture, {})[0],
            "14:42:07  4 groups: 1 allocated, 1 open by others, 1 free, 1 not to be passed "
            "through");
}

TEST(ChangesText, IsALineForWhatIsNew) {
  const TopPicture before = groupsPicture(3);
  TopPicture after = groupsPicture(3);
  EXPECT_THAT(changesText(before, after), IsEmpty());
  after.rows.erase(after.rows.begin());
  after.rows[1].holder = "default/vm";
  after.rows[1].since = "2026-11-23T12:42:07Z";
  after.refusals.push_back({"2026-11-23T12:42:06Z", "in use"});
  EXPECT_EQ(changesText(before, after),
            "2026-11-23T12:42:07Z group=2 state=passable driver=vfio-pci devices=0000:01:00.0 "
            "holder=\"default/vm\" since=2026-11-23T12:42:07Z\n"
            "2026-11-23T12:42:07Z group=0 gone\n"
            "2026-11-23T12:42:06Z refused in use\n");
}

TEST(AgeText, HasTwoUnitsAtMost) {
  const struct {
    std::int64_t seconds;
    const char* text;
  } kRows[] = {{-5, "0s"},   {0, "0s"},      {59, "59s"},    {60, "1m"},       {3599, "59m"},
               {3600, "1h"}, {7500, "2h5m"}, {86'400, "1d"}, {90'000, "1d1h"}, {172'799, "1d23h"}};
  for (const auto& row : kRows) EXPECT_EQ(ageText(row.seconds), row.text);
}

}  // namespace
}  // namespace vfiogate
