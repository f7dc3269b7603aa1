#include <gtest/gtest.h>

#include "ipc/types/vital_data.h"
#include "privd/scan/pci_scan.h"
#include "tests/support/fake_sysfs.h"

namespace vfiogate {
namespace {

using namespace std::string_literals;

std::string resource(char tag, const std::string& data) {
  return tag + std::string(1, static_cast<char>(data.size() & 0xff)) +
         std::string(1, static_cast<char>(data.size() >> 8U)) + data;
}

std::string field(const std::string& name, const std::string& value) {
  return name + static_cast<char>(value.size()) + value;
}

const std::string kName = resource('\x82', "ConnectX-6 Dx EN adapter card");
const std::string kRest = field("RV", "\x5c"s) + field("V1", std::string(200, 'v'));
const std::string kEnd = "\x78";

std::string fields(const std::string& serial) {
  return resource('\x90', field("PN", "MCX623106AN-CDAT") + field("SN", serial) + kRest);
}

struct Row {
  const char* name;
  std::string vpd;
  const char* want;
};

void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name;
}

class SerialIn : public testing::TestWithParam<Row> {};

TEST_P(SerialIn, Vpd) {
  EXPECT_EQ(serialIn(GetParam().vpd), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Cards, SerialIn,
    testing::Values(
        Row{"Plain", kName + fields("MT2112X01234") + kEnd, "MT2112X01234"},
        Row{"FilledUpWithBlanks", kName + fields("  MT 1 ") + kEnd, "MT 1"},
        Row{"FilledUpWithZeros", kName + fields("MT1\0\0\0"s) + kEnd, "MT1"},
        Row{"WithoutAName", fields("MT1"), "MT1"},
        Row{"AfterASmallResource",
            "\x33"
            "abc" +
                fields("MT1"),
            "MT1"},
        Row{"AfterALongName", resource('\x82', std::string(1000, 'n')) + fields("MT1"), "MT1"},
        Row{"OfTheLargestLength", fields(std::string(64, 's')),
            "ssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssss"},
        Row{"None", kName + resource('\x90', field("PN", "1") + kRest) + kEnd, ""},
        Row{"OnlyInWritableFields", kName + resource('\x91', field("SN", "MT1")) + kEnd, ""},
        Row{"AfterTheEnd", kName + kEnd + fields("MT1"), ""},
        Row{"AfterAnEndWithAChecksum", kName + "\x79\x01" + fields("MT1"), ""},
        Row{"EmptyField", fields(""), ""}, Row{"OnlyFill", fields(" \0 "s), ""},
        Row{"TooLong", fields(std::string(65, 's')), ""}, Row{"NoText", fields("MT\x1b[31m"), ""},
        Row{"NoAscii", fields("MT\xff"), ""},
        Row{"CutInItsField", fields("MT2112X01234").substr(0, 30), ""},
        Row{"FieldLongerThanItsResource", resource('\x90', "SN\x20MT1") + "garbage", ""},
        Row{"CutInAHead", "\x82\x10"s, ""}, Row{"CutInAName", "\x82\x10\x00n"s, ""},
        Row{"Nothing", "", ""}, Row{"AllOnes", std::string(4096, '\xff'), ""},
        Row{"AllZeros", std::string(4096, '\0'), ""}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(ReadSerial, IsOfOneFunction) {
  FakeSysfs tree;
  tree.add({.address = "0000:01:00.0"});
  const SysfsRoot sysfs = *SysfsRoot::open(tree.sysfs());
  const Bdf address = *Bdf::parse("0000:01:00.0");
  ASSERT_FALSE(readSerial(sysfs, address));
  EXPECT_EQ(readSerial(sysfs, address).error().error, ENOENT);
  tree.setAttribute("0000:01:00.0", "vpd", kName + fields("MT2112X01234") + kEnd);
  EXPECT_EQ(readSerial(sysfs, address).value(), "MT2112X01234");
}

}  // namespace
}  // namespace vfiogate
