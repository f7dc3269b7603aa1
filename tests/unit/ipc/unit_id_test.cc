#include "ipc/types/unit_id.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace vfiogate {
namespace {

constexpr const char* kUuid = "83b8f4f2-509f-382f-3c1e-e6bfe0fa1001";

TEST(UnitId, OfAnAddressAndOfAUuidWritesWhatItReads) {
  for (const char* text : {"0000:3b:1f.7", "10000:e1:00.0", kUuid}) {
    const auto id = UnitId::parse(text);
    ASSERT_TRUE(id) << text;
    EXPECT_EQ(id->str(), text);
  }
}

TEST(UnitId, SaysWhichOfTheTwoItIs) {
  const UnitId function = *UnitId::parse("0000:3b:00.0");
  ASSERT_NE(function.address(), nullptr);
  EXPECT_EQ(*function.address(), *Bdf::parse("0000:3b:00.0"));
  EXPECT_EQ(function.uuid(), nullptr);
  const UnitId mediated = *UnitId::parse(kUuid);
  EXPECT_EQ(mediated.address(), nullptr);
  ASSERT_NE(mediated.uuid(), nullptr);
  EXPECT_EQ(mediated.uuid()->str(), kUuid);
}

TEST(UnitId, FoldsTheCaseOfAnAddressAlone) {
  EXPECT_EQ(UnitId::parse("0000:AF:00.0")->str(), "0000:af:00.0");
  EXPECT_FALSE(UnitId::parse("83B8F4F2-509f-382f-3c1e-e6bfe0fa1001"));
}

TEST(UnitId, RefusesWhatIsNeither) {
  for (const char* text :
       {"", "31", "83b8f4f2-509f-382f-3c1e-e6bfe0fa100", "83b8f4f2-509f-382f-3c1e-e6bfe0fa10011",
        "83b8f4f2_509f_382f_3c1e_e6bfe0fa1001", "83b8f4g2-509f-382f-3c1e-e6bfe0fa1001",
        "../../../etc/509f-382f-3c1e-e6bfe0fa", "0000:3b:00"}) {
    const auto id = UnitId::parse(text);
    ASSERT_FALSE(id) << text;
    EXPECT_EQ(id.error(), ParseError::kWrongShape) << text;
  }
  EXPECT_EQ(UnitId::parse("0000:3b:20.0").error(), ParseError::kOutOfRange);
}

TEST(UnitId, SortsAddressesBeforeUuids) {
  const std::vector<UnitId> sorted{*UnitId::parse("0000:3b:00.0"), *UnitId::parse("0001:00:00.0"),
                                   *UnitId::parse("00000000-0000-0000-0000-000000000000"),
                                   *UnitId::parse(kUuid)};
  std::vector<UnitId> mixed{sorted[3], sorted[1], sorted[2], sorted[0]};
  std::ranges::sort(mixed);
  EXPECT_EQ(mixed, sorted);
}

}  // namespace
}  // namespace vfiogate
