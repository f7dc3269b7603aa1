#include "privd/audit/audit_record.h"

#include "privd/audit/record_end.h"
#include "tests/unit/privd/audit/logs.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace vfiogate::test {
namespace {

using nlohmann::json;

std::string lineWith(const std::string& fields) {
  std::string line =
      recordLine({12, 1'763'789'709'000'000'042, 99, "7a1c", std::string(kNoHash)}, fields);
  EXPECT_EQ(line.back(), '\n');
  line.pop_back();
  return line;
}

TEST(AuditRecord, IsALineWhoseFieldsStandInTheirOrder) {
  const std::string line = lineWith(fieldsOf(bindCard()));
  EXPECT_EQ(
      line.substr(0, line.size() - 66),
      R"({"seq":12,"time":"2025-11-22T05:35:09.000000042Z","monotonic_ns":99,"boot":"7a1c",)"
      R"("kind":"intent","peer":{"role":"root","uid":0,"pid":4711},"operation":"bind","group":7,)"
      R"("devices":[{"address":"0000:01:00.0","driver":"nvidia","driver_override":""}],)"
      R"("writes":[{"address":"0000:01:00.0","attribute":"bus/pci/devices/0000:01:00.0/driver_override","text":"vfio-pci"},)"
      R"({"address":"0000:01:00.0","attribute":"bus/pci/drivers/nvidia/unbind","text":"0000:01:00.0"},)"
      R"({"address":"0000:01:00.0","attribute":"bus/pci/drivers_probe","text":"0000:01:00.0"}],"undo":[],)"
      R"("overridden":[{"guard":"boot-vga","address":"0000:01:00.0","verdict":"blocked","reason":"it shows"}],)"
      R"("prev":"0000000000000000000000000000000000000000000000000000000000000000","hash":")");
}

TEST(AuditRecord, SaysWhatBecameOfAnIntent) {
  AuditOutcome outcome = doneOf(11);
  outcome.outcome = ChangeOutcome::kLeftChanged;
  outcome.error = "unbind: Device or resource busy";
  outcome.differences = {"0000:01:00.0: driver_override is vfio-pci"};
  const json record = json::parse(lineWith(fieldsOf(outcome)));
  EXPECT_EQ(record["kind"], "outcome");
  EXPECT_EQ(record["intent"], 11);
  EXPECT_EQ(record["outcome"], "left-changed");
  EXPECT_EQ(record["error"], outcome.error);
  EXPECT_EQ(record["differences"], outcome.differences);
}

TEST(AuditRecord, WritesAnUnknownPidAndNoGroupAsNull) {
  AuditIntent intent = bindCard();
  intent.peer.pid = 0;
  intent.group.reset();
  const json record = json::parse(lineWith(fieldsOf(intent)));
  EXPECT_TRUE(record["peer"]["pid"].is_null());
  EXPECT_TRUE(record["group"].is_null());
}

TEST(AuditRecord, KeepsEveryByteOfATextAndStaysOneLineOfAscii) {
  std::string every;
  for (int byte = 0; byte < 256; ++byte) every += static_cast<char>(byte);
  const std::string line = lineWith(fieldsOf(noteOf(every)));
  for (const char c : line) ASSERT_TRUE(c >= 0x20 && c < 0x7f) << int{c};
  const auto read = json::parse(line)["text"].get<std::string>();
  std::string expected;  // each byte as the character of this number
  for (int byte = 0; byte < 256; ++byte) {
    if (byte >= 0x80) expected += static_cast<char>(0xc0 | (byte >> 6));
    expected += static_cast<char>(byte < 0x80 ? byte : 0x80 | (byte & 0x3f));
  }
  EXPECT_EQ(read, expected);
}

TEST(AuditRecord, TextCannotEndItsRecordOrLookLikeAField) {
  const std::string forged = "\"}\n{\"seq\":13,\"kind\":\"recovered\",\"reason\":\"torn\"";
  const std::string line = lineWith(fieldsOf(noteOf(forged)));
  EXPECT_EQ(json::parse(line)["text"], forged);
  EXPECT_EQ(examine(line).kind, ChainLine::Kind::kRecord);
  EXPECT_FALSE(examine(line).closesTorn);
}

TEST(AuditRecord, CutsLongTextsAndListsForPeople) {
  const std::string huge(std::size_t{1} << 20U, 'x');
  const json note = json::parse(lineWith(fieldsOf(noteOf(huge))));
  EXPECT_EQ(note["text"], std::string(4096, 'x') + "...");
  AuditOutcome outcome = doneOf(1);
  outcome.differences.assign(5000, std::string(1000, 'd'));
  const std::string line = lineWith(fieldsOf(outcome));
  EXPECT_LT(line.size(), AuditLog::kLongestRecord);
  const json last = json::parse(line)["differences"].back();
  EXPECT_EQ(last.get<std::string>().substr(0, 8), "... and ");
}

TEST(AuditRecord, IsKnownAgainByItsBeginAndEnd) {
  const std::string line = lineWith(fieldsOf(noteOf("x")));
  const auto end = recordEnd(line);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->sequence, 12U);
  EXPECT_EQ(end->previous, kNoHash);
  EXPECT_TRUE(hashIsOwn(*end));
  for (std::size_t size = 0; size < line.size(); ++size) {
    EXPECT_FALSE(recordEnd(std::string_view(line).substr(0, size))) << size;
  }
}

// How a text sorts is how its time does.
TEST(AuditRecord, TimesHaveAllTheirDigits) {
  EXPECT_EQ(utcText(0), "1970-01-01T00:00:00.000000000Z");
  EXPECT_EQ(utcText(951'782'400'000'000'001), "2000-02-29T00:00:00.000000001Z");
  EXPECT_EQ(utcText(1'000'000'000 - 1), "1970-01-01T00:00:00.999999999Z");
}

TEST(LastRecord, IsFoundBehindWhateverIsNone) {
  const std::string first = lineWith(fieldsOf(noteOf("a"))) + "\n";
  const std::string second = lineWith(fieldsOf(noteOf("b"))) + "\n";
  const auto last = [](const std::string& text) { return lastRecordOf(text); };
  EXPECT_FALSE(last(""));
  EXPECT_FALSE(last("\n\n"));
  EXPECT_FALSE(last("{\"seq\":1,"));
  EXPECT_EQ(last(first + second)->bytesAfter, 0U);
  EXPECT_EQ(last(first + second)->end.hash, recordEnd(linesOf(second)[0])->hash);
  EXPECT_EQ(last(first + "{\"seq\":13,\"ti")->bytesAfter, 13U);
  EXPECT_EQ(last(first + "garbage\n\nmore\n")->bytesAfter, 14U);
  EXPECT_EQ(last("half a line\n" + first)->bytesAfter, 0U);
  EXPECT_EQ(last(first + second.substr(0, second.size() - 1))->bytesAfter, 0U);
  std::string edited = second;
  edited[20] = '9';
  EXPECT_EQ(last(first + edited)->bytesAfter, edited.size());
}

}  // namespace
}  // namespace vfiogate::test
