// Which of privd's processes plugind takes a connection for, and when they are a session.

#include "tests/integration/privd_link_case.h"

#include "ipc/gate/packet_socket.h"

namespace vfiogate::test {
namespace {

using PrivdRolesTest = PrivdLinkTest;

TEST_F(PrivdRolesTest, TheFirstOfASessionWaitsForTheSecond) {
  kj::AutoCloseFd gate = dialAs(PrivdRole::kGate);
  ASSERT_TRUE(until([this] { return away().size() == 2; }));
  EXPECT_FALSE(link().isThere());
  kj::AutoCloseFd hardware = dialAs(PrivdRole::kHardware);
  EXPECT_TRUE(until([this] { return link().isThere(); }));
  EXPECT_EQ(away(), std::vector{PrivdRole::kBinder});
  gate = nullptr;
  EXPECT_TRUE(isCut(hardware)) << "the end of one is that of both";
  EXPECT_FALSE(link().isThere());
  EXPECT_EQ(away().size(), kPrivdRoles);
}

TEST_F(PrivdRolesTest, TheGateIsCutOffWithTheHardwareProcess) {
  kj::AutoCloseFd hardware = dialAs(PrivdRole::kHardware);
  kj::AutoCloseFd gate = dialAs(PrivdRole::kGate);
  ASSERT_TRUE(until([this] { return link().isThere(); }));
  char enter[64];
  ASSERT_TRUE(until([&] { return recv(gate, enter, sizeof(enter), MSG_DONTWAIT | MSG_PEEK) > 0; }));
  KJ_SYSCALL(recv(gate, enter, sizeof(enter), MSG_DONTWAIT));
  hardware = nullptr;
  EXPECT_TRUE(isCut(gate));
  EXPECT_FALSE(link().isThere());
}

TEST_F(PrivdRolesTest, OneThatLeavesWhileItWaitsMayComeBack) {
  for (const PrivdRole role : {PrivdRole::kGate, PrivdRole::kHardware}) {
    kj::AutoCloseFd waiting = dialAs(role);
    ASSERT_TRUE(until([this] { return away().size() == 2; }));
    waiting = nullptr;
    EXPECT_TRUE(until([this] { return away().size() == kPrivdRoles; }));
  }
  startPrivd();
}

TEST_F(PrivdRolesTest, TakesOneConnectionARole) {
  for (const PrivdRole role : {PrivdRole::kGate, PrivdRole::kBinder}) {
    const kj::AutoCloseFd first = dialAs(role);
    ASSERT_TRUE(until([&] { return link().away().size() < kPrivdRoles; }));
    EXPECT_TRUE(isCut(dialAs(role))) << nameOf(role);
    EXPECT_EQ(away().size(), 2U);
    EXPECT_TRUE(until([&] {
      char byte = 0;
      return recv(first, &byte, 1, MSG_DONTWAIT) < 0;
    })) << "the first stays";
  }
}

TEST_F(PrivdRolesTest, HangsUpOnABinderThatBreaksTheRulesAndTakesTheNext) {
  const kj::AutoCloseFd nonsense = dialAs(PrivdRole::kBinder);
  ASSERT_EQ(sendPacket(nonsense, "nonsense"), PacketSent::kSent);
  EXPECT_TRUE(isCut(nonsense));
  const kj::AutoCloseFd answers = dialAs(PrivdRole::kBinder);
  ASSERT_EQ(sendPacket(answers, encode(binder::FromBinder(binder::Answer{}))), PacketSent::kSent);
  EXPECT_TRUE(isCut(answers)) << "nothing was asked";
  const kj::AutoCloseFd sends = dialAs(PrivdRole::kBinder);
  ASSERT_EQ(sendPacket(sends, encode(binder::FromBinder(binder::Changed{})), sends.get()),
            PacketSent::kSent);
  EXPECT_TRUE(isCut(sends)) << "no descriptor travels here";
  startPrivd();
}

class PrivdUsersTest : public PrivdLinkTest {
protected:
  ~PrivdUsersTest() noexcept override = default;
  uid_t hardwareUser() const override { return getuid() + 1; }
};

TEST_F(PrivdUsersTest, ARoleIsItsUsersAlone) {
  EXPECT_TRUE(isCut(dialAs(PrivdRole::kHardware)));
  EXPECT_EQ(away().size(), kPrivdRoles);
  const kj::AutoCloseFd gate = dialAs(PrivdRole::kGate);
  EXPECT_TRUE(until([this] { return away().size() == 2; }));
}

}  // namespace
}  // namespace vfiogate::test
