#include "privd/cli/audit/log_chain.h"

#include "privd/audit/audit_record.h"
#include "privd/audit/record_end.h"
#include "tests/unit/privd/audit/logs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace vfiogate::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using Lines = std::vector<std::string>;

/// The line without its end.
std::string recordOf(std::uint64_t sequence, const std::string& previous,
                     const std::string& fields) {
  std::string line = recordLine({sequence, 1, 2, "7a1c", previous}, fields);
  line.pop_back();
  return line;
}

std::string hashIn(const std::string& line) {
  return std::string(recordEnd(line)->hash);
}

/// Records 1 to `count`.
Lines wholeChain(std::uint64_t count) {
  Lines lines;
  std::string previous(kNoHash);
  for (std::uint64_t i = 1; i <= count; ++i) {
    lines.push_back(recordOf(i, previous, fieldsOf(bindCard())));
    previous = hashIn(lines.back());
  }
  return lines;
}

/// The same with its own hash again.
std::string hashedAnew(const std::string& line) {
  const std::string_view hashed = recordEnd(line)->hashed;
  const std::size_t fields = hashed.find("\"kind\"");
  const std::size_t previous = hashed.rfind(",\"prev\"");
  return recordOf(recordEnd(line)->sequence, std::string(recordEnd(line)->previous),
                  std::string(hashed.substr(fields, previous - fields)));
}

TEST(LogChain, I7_AWholeOneIsGood) {
  for (std::uint64_t count : {0U, 1U, 2U, 9U}) {
    const ChainReport report = verifyLines(wholeChain(count));
    EXPECT_EQ(faultOf(report), "");
    EXPECT_EQ(report.good, count);
    EXPECT_EQ(report.last, count);
    EXPECT_TRUE(report.remarks.empty());
  }
}

TEST(LogChain, I7_AnEditOfAnyByteIsFound) {
  const Lines whole = wholeChain(3);
  for (std::size_t at = 0; at < whole[1].size(); ++at) {
    Lines lines = whole;
    lines[1][at] = static_cast<char>(lines[1][at] ^ 1);
    const ChainReport report = verifyLines(lines);
    ASSERT_TRUE(report.bad) << "byte " << at;
    ASSERT_EQ(report.bad->at, 1U) << faultOf(report);
    ASSERT_EQ(report.bad->fault, ChainFault::kEdited) << at << " " << faultOf(report);
    ASSERT_EQ(report.good, 1U);
  }
}

struct Damaged {
  const char* name;
  std::function<void(Lines&)> damage;  ///< to records 1 to 6
  std::string says;
};

void PrintTo(const Damaged& row, std::ostream* out) {
  *out << row.name;
}

class EachDamage : public testing::TestWithParam<Damaged> {};

TEST_P(EachDamage, I7_IsNamed) {
  Lines lines = wholeChain(6);
  GetParam().damage(lines);
  EXPECT_THAT(faultOf(verifyLines(lines)), StartsWith(GetParam().says));
}

void replace(std::string& line, const std::string& what, const std::string& by) {
  line.replace(line.find(what), what.size(), by);
}

/// The digit behind `name` becomes another.
void flipDigit(std::string& line, const std::string& name) {
  char& digit = line.at(line.find(name) + name.size());
  digit = digit == '0' ? '1' : '0';
}

/// A field's value becomes another.
Damaged editOf(const char* name, std::string what, std::string by) {
  return {name, [what, by](Lines& lines) { replace(lines[2], what, by); }, "edited 3: its hash"};
}

INSTANTIATE_TEST_SUITE_P(
    Edit, EachDamage,
    testing::Values(
        editOf("Sequence", "{\"seq\":3", "{\"seq\":4"), editOf("Time", "1970-", "1971-"),
        editOf("Monotonic", "\"monotonic_ns\":2", "\"monotonic_ns\":3"),
        editOf("Boot", "7a1c", "7a1d"), editOf("Kind", "intent", "note"),
        editOf("Role", "\"root\"", "\"privd\""), editOf("Uid", "\"uid\":0", "\"uid\":64532"),
        editOf("Pid", "4711", "1"), editOf("Operation", "\"bind\"", "\"unbind\""),
        editOf("Group", "\"group\":7", "\"group\":8"),
        editOf("Device", "\"address\":\"0000:01", "\"address\":\"0000:02"),
        editOf("Driver", "nvidia", "nouveau"),
        editOf("Override", "\"driver_override\":\"\"", "\"driver_override\":\"x\""),
        editOf("Attribute", "drivers_probe", "rescan"), editOf("Write", "\"vfio-pci\"", "\"ahci\""),
        editOf("Guard", "boot-vga", "bridge"), editOf("Reason", "it shows", "it does not"),
        Damaged{"Previous", [](Lines& lines) { flipDigit(lines[2], "\"prev\":\""); },
                "edited 3: its hash"},
        Damaged{"Hash", [](Lines& lines) { flipDigit(lines[2], "\"hash\":\""); },
                "edited 3: its hash"}),
    [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Other, EachDamage,
    testing::Values(
        Damaged{"EditedWithItsHash",
                [](Lines& lines) {
                  replace(lines[2], "nvidia", "nouveau");
                  lines[2] = hashedAnew(lines[2]);
                },
                "edited 4: it names another predecessor"},
        Damaged{"NoRecordAnyMore", [](Lines& lines) { lines[2] = "{\"seq\":3}"; },
                "edited 3: it is no record any more"},
        Damaged{"OneRemoved", [](Lines& lines) { lines.erase(lines.begin() + 2); },
                "removed 3: record 3 is missing"},
        Damaged{"ThreeRemoved",
                [](Lines& lines) { lines.erase(lines.begin() + 1, lines.begin() + 4); },
                "removed 2: records 2 to 4 are missing"},
        Damaged{"FirstRemoved", [](Lines& lines) { lines.erase(lines.begin()); },
                "removed 1: record 1 is missing"},
        Damaged{"RemovedAndNumberedAnew",
                [](Lines& lines) {
                  lines.erase(lines.begin() + 2);
                  lines[2] =
                      recordOf(3, std::string(recordEnd(lines[2])->previous), "\"kind\":\"x\"");
                },
                "edited 3: it names another predecessor"},
        Damaged{"GarbageInserted", [](Lines& lines) { lines.insert(lines.begin() + 2, "garbage"); },
                "inserted 3: the chain goes on around"},
        Damaged{"GarbageAppended", [](Lines& lines) { lines.emplace_back("garbage"); },
                "inserted 7: it is no record"},
        Damaged{"BadRecordInserted",
                [](Lines& lines) {
                  std::string line = lines[2];
                  replace(line, "nvidia", "nouveau");
                  lines.insert(lines.begin() + 2, line);
                },
                "inserted 3: the chain goes on around"},
        Damaged{"OldRecordInserted",
                [](Lines& lines) { lines.insert(lines.begin() + 4, std::string(lines[1])); },
                "inserted 2: a record of this number stands before it"},
        Damaged{"YoungerRecordInserted",
                [](Lines& lines) { lines.insert(lines.begin() + 1, std::string(lines[4])); },
                "inserted 5: it stands twice"},
        Damaged{"ForgedRecordInserted",
                [](Lines& lines) {
                  lines.insert(lines.begin() + 2, recordOf(3, hashIn(lines[1]), "\"kind\":\"x\""));
                },
                "inserted 3: a record of this number stands before it"},
        Damaged{"NeighboursSwapped", [](Lines& lines) { std::swap(lines[2], lines[3]); },
                "reordered 4: record 3 stands behind it"},
        Damaged{"FarOnesSwapped", [](Lines& lines) { std::swap(lines[1], lines[4]); },
                "reordered 5: record 2 stands behind it"},
        Damaged{"TornAtTheEnd", [](Lines& lines) { lines.back().resize(80); }, "torn 6: it has no"},
        Damaged{"TornInTheMiddle", [](Lines& lines) { lines[2].resize(80); }, "edited 3: "}),
    [](const auto& row) { return row.param.name; });

// What nobody can know without an anchor.
TEST(LogChain, I7_ACutAtARecordsEndPassesWithoutAnAnchorOnly) {
  Lines lines = wholeChain(6);
  const AuditHead anchor{6, hashIn(lines[5])};
  lines.resize(4);
  EXPECT_EQ(faultOf(verifyLines(lines)), "");
  EXPECT_THAT(faultOf(verifyLines(lines, anchor)),
              StartsWith("removed 6: the anchor knows record 6, and the log ends at 4"));
}

TEST(LogChain, I7_AChainWrittenAnewPassesWithoutAnAnchorOnly) {
  const AuditHead anchor{2, hashIn(wholeChain(2)[1])};
  Lines forged = wholeChain(1);
  for (std::uint64_t i = 2; i < 5; ++i) {
    forged.push_back(recordOf(i, hashIn(forged.back()), "\"kind\":\"x\""));
  }
  EXPECT_EQ(faultOf(verifyLines(forged)), "");
  EXPECT_THAT(faultOf(verifyLines(forged, anchor)),
              StartsWith("edited 2: the anchor knows it with another hash"));
}

TEST(LogChain, AnAnchorOfAnyKeptRecordIsFound) {
  const Lines lines = wholeChain(4);
  for (std::uint64_t i = 1; i <= 4; ++i) {
    const ChainReport report = verifyLines(lines, AuditHead{i, hashIn(lines[i - 1])});
    EXPECT_EQ(faultOf(report), "") << i;
    EXPECT_TRUE(report.anchored) << i;
  }
  EXPECT_THAT(faultOf(verifyLines({}, AuditHead{1, hashIn(lines[0])})), StartsWith("removed 1"));
}

TEST(LogChain, AnAnchorOlderThanTheLogComparesOnlyWithTheLastRotatedAway) {
  Lines lines = wholeChain(3);
  const AuditHead first{1, hashIn(lines[0])};
  const AuditHead third{3, hashIn(lines[2])};
  lines = {recordOf(4, third.hash, rotatedFields(third))};
  lines.push_back(recordOf(5, hashIn(lines[0]), "\"kind\":\"x\""));
  const ChainReport report = verifyLines(lines);
  EXPECT_EQ(faultOf(report), "");
  EXPECT_EQ(report.first, 4U);
  EXPECT_THAT(report.remarks, testing::ElementsAre(HasSubstr("begins with record 4")));
  EXPECT_TRUE(verifyLines(lines, third).anchored);
  EXPECT_THAT(faultOf(verifyLines(lines, AuditHead{3, first.hash})), StartsWith("edited 3"));
  EXPECT_THAT(faultOf(verifyLines(lines, first)), HasSubstr("take a younger anchor"));
  lines.erase(lines.begin());
  EXPECT_THAT(faultOf(verifyLines(lines)), StartsWith("removed 1: records 1 to 4"))
      << "only a file after a full one begins late";
}

TEST(LogChain, I7_ATearThatPrivdClosedIsNoFaultHoweverOftenItWasTorn) {
  const Lines whole = wholeChain(3);
  for (std::size_t tears = 1; tears < 4; ++tears) {
    Lines lines = {whole[0], whole[1]};
    lines.insert(lines.end(), tears, whole[2].substr(0, 90));
    EXPECT_THAT(faultOf(verifyLines(lines)), StartsWith("torn 3"));
    lines.push_back(recordOf(3, hashIn(whole[1]), recoveredFields(Damage::kTorn, 90)));
    const ChainReport report = verifyLines(lines);
    EXPECT_EQ(faultOf(report), "");
    EXPECT_EQ(report.good, 3U);
    EXPECT_EQ(report.remarks.size(), 1U);
  }
}

TEST(LogChain, I7_OtherDamageThatPrivdMetStaysAFault) {
  Lines lines = wholeChain(2);
  const std::string next = recordOf(3, hashIn(lines[1]), recoveredFields(Damage::kGrown, 7));
  lines.insert(lines.end(), {"garbage", next});
  EXPECT_THAT(faultOf(verifyLines(lines)), StartsWith("inserted 3: it is no record"));
  lines[2] = wholeChain(3)[2];
  replace(lines[2], "nvidia", "nouveau");
  EXPECT_THAT(faultOf(verifyLines(lines)), StartsWith("edited 3: its hash"));
}

TEST(Anchor, IsASequenceNumberAndAHash) {
  const std::string hash(kNoHash);
  const auto anchor = parseAnchor("12:" + hash);
  ASSERT_TRUE(anchor);
  EXPECT_EQ(anchor->sequence, 12U);
  EXPECT_EQ(anchor->hash, hash);
  for (const std::string& text :
       {std::string(), std::string("12"), "0:" + hash, ":" + hash, "-1:" + hash, "12:" + hash + "0",
        "12:" + hash.substr(1), "12 " + hash, "12:" + hash.substr(1) + "g", "12:" + hash + "\n",
        "99999999999999999999:" + hash}) {
    EXPECT_FALSE(parseAnchor(text)) << text;
  }
}

}  // namespace
}  // namespace vfiogate::test
