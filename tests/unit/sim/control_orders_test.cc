#include "sim/sysfs/control/control_context.h"

#include <gmock/gmock.h>

#include "tests/unit/sim/node.h"

namespace vfiogate::sim {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

constexpr const char* kLoner = "0000:01:00.0";
constexpr const char* kFirst = "0000:03:01.0";
constexpr const char* kSecond = "0000:03:02.0";

std::string order(Node61& node, const std::string& line) {
  Switches switches;
  return execute(node.kernel, switches, line).text;
}

TEST(NthWrite, FailsOnceWhateverItIs) {
  for (int nth = 1; nth <= 3; ++nth) {
    Node61 node("two-in-group");
    ASSERT_EQ(order(node, "fail-nth " + std::to_string(nth) + " EIO"), "ok\n");
    EXPECT_EQ(node.writeAttribute(kLoner, "driver_override", "vfio-pci\n"), nth == 1 ? EIO : 0);
    EXPECT_EQ(node.unbind(kLoner, "e1000e"), nth == 2 ? EIO : 0);
    EXPECT_EQ(node.writeAttribute(kLoner, "driver_override", "\n"), nth == 3 ? EIO : 0);
    EXPECT_EQ(node.writeAttribute(kLoner, "driver_override", "\n"), 0);
  }
}

TEST(NthWrite, HangsUntilItIsLifted) {
  Node61 node("two-in-group");
  ASSERT_EQ(order(node, "hang-nth 2"), "ok\n");
  EXPECT_EQ(node.writeAttribute(kLoner, "driver_override", "vfio-pci\n"), 0);
  EXPECT_EQ(node.unbind(kLoner, "e1000e"), kHangs);
  const TaskId hanging = node.lastWrite;
  EXPECT_EQ(node.unbind(kFirst, "e1000"), 0);
  EXPECT_EQ(node.driverOf(kLoner), "e1000e");
  ASSERT_EQ(order(node, "unhang"), "ok\n");
  EXPECT_EQ(node.end(hanging), 0);
  EXPECT_EQ(node.driverOf(kLoner), "");
}

struct OrderedFailure {
  const char* name;
  const char* attribute;
  int (*write)(Node61&);
};

void PrintTo(const OrderedFailure& row, std::ostream* out) {
  *out << row.name;
}

class FailureOfOneDevice : public testing::TestWithParam<OrderedFailure> {};

TEST_P(FailureOfOneDevice, ComesSoManyTimesAndToNoOther) {
  Node61 node("two-in-group");
  ASSERT_EQ(order(node, std::string("fail 0000:03:01.0 ") + GetParam().attribute + " EPERM 2"),
            "ok\n");
  EXPECT_EQ(node.writeAttribute(kSecond, "driver_override", "\n"), 0);
  EXPECT_EQ(node.unbind(kSecond, "e1000"), 0);
  EXPECT_EQ(node.write("bus/pci/drivers_probe", kSecond), 0);
  EXPECT_EQ(GetParam().write(node), EPERM);
  EXPECT_EQ(GetParam().write(node), EPERM);
  EXPECT_NE(GetParam().write(node), EPERM);
}

INSTANTIATE_TEST_SUITE_P(
    Attributes, FailureOfOneDevice,
    testing::Values(
        OrderedFailure{
            "Override", "driver_override",
            [](Node61& n) { return n.writeAttribute(kFirst, "driver_override", "a\n"); }},
        OrderedFailure{"Bind", "bind", [](Node61& n) { return n.bind(kFirst, "e1000"); }},
        OrderedFailure{"Unbind", "unbind", [](Node61& n) { return n.unbind(kFirst, "e1000"); }},
        OrderedFailure{"Probe", "drivers_probe",
                       [](Node61& n) { return n.write("bus/pci/drivers_probe", kFirst); }}),
    [](const auto& row) { return row.param.name; });

TEST(Silence, LetsBindAndProbeSucceedAndBindNothing) {
  Node61 node("two-in-group");
  ASSERT_EQ(node.unbind(kFirst, "e1000"), 0);
  ASSERT_EQ(order(node, std::string("silent ") + kFirst), "ok\n");
  EXPECT_EQ(node.bind(kFirst, "e1000"), 0);
  EXPECT_EQ(node.write("bus/pci/drivers_probe", kFirst), 0);
  EXPECT_EQ(node.driverOf(kFirst), "");
  ASSERT_EQ(order(node, std::string("unhang ") + kFirst), "ok\n");
  EXPECT_EQ(node.write("bus/pci/drivers_probe", kFirst), 0);
  EXPECT_EQ(node.driverOf(kFirst), "e1000");
}

TEST(HangOfOneDevice, HoldsItsWritesUntilLifted) {
  Node61 node("two-in-group");
  ASSERT_EQ(order(node, "hang 0000:03:01.0 unbind"), "ok\n");
  EXPECT_EQ(node.unbind(kSecond, "e1000"), 0);
  EXPECT_EQ(node.unbind(kFirst, "e1000"), kHangs);
  EXPECT_THAT(order(node, "unhang 0000:03:01.0 bind"), HasSubstr("nothing hangs or fails there"));
  ASSERT_EQ(order(node, "unhang 0000:03:01.0 unbind"), "ok\n");
  EXPECT_EQ(node.end(node.lastWrite), 0);
}

TEST(Writes, AreToldInTheirOrderByTheNamesThatProgramsUse) {
  Node61 node("two-in-group");
  order(node, "hang 0000:03:01.0 bind");
  node.giveToVfio(kLoner);
  node.bind(kFirst, "e1000");
  EXPECT_EQ(order(node, "writes"),
            "{\"attribute\":\"bus/pci/devices/0000:01:00.0/driver_override\","
            "\"text\":\"vfio-pci\\n\",\"error\":0}\n"
            "{\"attribute\":\"bus/pci/drivers/e1000e/unbind\","
            "\"text\":\"0000:01:00.0\\n\",\"error\":0}\n"
            "{\"attribute\":\"bus/pci/drivers/vfio-pci/bind\","
            "\"text\":\"0000:01:00.0\\n\",\"error\":0}\n"
            "{\"attribute\":\"bus/pci/drivers/e1000/bind\","
            "\"text\":\"0000:03:01.0\\n\",\"error\":null}\n"
            "ok\n");
  order(node, "unhang");
  EXPECT_THAT(order(node, "writes"), HasSubstr("\"error\":16}"));  // EBUSY: it is bound
  EXPECT_THAT(order(node, "writes take"), EndsWith("\"error\":16}\nok\n"));
  EXPECT_EQ(order(node, "writes"), "ok\n");
  node.bind(kFirst, "e1000");
  EXPECT_EQ(order(node, "writes clear"), "ok\n");
  EXPECT_EQ(order(node, "writes"), "ok\n");
}

TEST(Orders, AreToldHowTheyAreUsed) {
  Node61 node("two-in-group");
  EXPECT_EQ(order(node, "hang 0000:01:00.0"), "error: say hang ADDRESS ATTRIBUTE\n");
  EXPECT_EQ(order(node, "fail 0000:01:00.0 bind"),
            "error: say fail ADDRESS ATTRIBUTE ERRNO [TIMES]\n");
  EXPECT_EQ(order(node, "fail-nth 0 EIO"), "error: the first write is number 1\n");
  EXPECT_EQ(order(node, "writes away"), "error: say writes, writes clear, or writes take\n");
  EXPECT_THAT(order(node, "silent 0000:09:00.0"), HasSubstr("no such device"));
}

}  // namespace
}  // namespace vfiogate::sim
