// How the daemon waits for its processes, and ends them.

#include "privd/start/supervisor.h"

#include "ipc/gate/packet_socket.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <map>
#include <thread>

namespace vfiogate {
namespace {

/// Processes that are only the other ends of their sockets.
class SupervisorTest : public testing::Test {
protected:
  SupervisorTest() {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    signals_ = kj::AutoCloseFd(ends[0]);
    signaller_ = kj::AutoCloseFd(ends[1]);
    std::vector<RoleProcess> roles;
    for (const PrivdRole role : {PrivdRole::kHardware, PrivdRole::kGate, PrivdRole::kBinder}) {
      PacketPair pair = std::move(packetPair()).value();
      roles.emplace_back(role, kj::mv(pair.ours));
      processes_[role] = kj::mv(pair.theirs);
    }
    all_.emplace(std::move(roles), signals_.get());
  }

  ~SupervisorTest() noexcept override = default;

  void serves(PrivdRole role) { EXPECT_EQ(write(processes_[role], "", 1), 1); }
  void allServe() {
    for (const auto& [role, socket] : processes_) serves(role);
  }
  void ends(PrivdRole role) { processes_[role] = nullptr; }
  void signal() { EXPECT_EQ(write(signaller_, "", 1), 1); }
  /// It was asked to end.
  bool isAsked(PrivdRole role, int timeoutMs = 0) {
    pollfd source{processes_[role], POLLIN, 0};
    return poll(&source, 1, timeoutMs) == 1;
  }

  kj::AutoCloseFd signals_;
  kj::AutoCloseFd signaller_;
  std::map<PrivdRole, kj::AutoCloseFd> processes_;
  std::optional<Supervisor> all_;
};

std::string errorOf(const Result<Done, std::string>& result) {
  return result ? "none" : result.error();
}

TEST_F(SupervisorTest, AllServeOnceEachHasSaidSo) {
  serves(PrivdRole::kGate);
  serves(PrivdRole::kBinder);
  std::thread last([this]() { serves(PrivdRole::kHardware); });
  EXPECT_EQ(errorOf(all_->awaitServing()), "none");
  last.join();
}

TEST_F(SupervisorTest, OneThatEndsAtItsStartIsNamed) {
  serves(PrivdRole::kHardware);
  ends(PrivdRole::kGate);
  EXPECT_EQ(errorOf(all_->awaitServing()), "privd-gate ended at its start: it says why above");
}

TEST_F(SupervisorTest, TheEndOfOneIsTheEndOfAll) {
  allServe();
  ASSERT_TRUE(all_->awaitServing());
  ends(PrivdRole::kHardware);
  EXPECT_EQ(errorOf(all_->awaitEnd()), "privd-hardware ended: start privd again");
}

TEST_F(SupervisorTest, ASignalIsNoFailure) {
  signal();
  EXPECT_EQ(errorOf(all_->awaitServing()), "") << "also while they start";
  EXPECT_EQ(errorOf(all_->awaitEnd()), "none");
}

// A terminal sends its signal to all of them.
TEST_F(SupervisorTest, OneThatEndsBySignalIsNoFailure) {
  allServe();
  ASSERT_TRUE(all_->awaitServing());
  ends(PrivdRole::kGate);
  signal();
  EXPECT_EQ(errorOf(all_->awaitEnd()), "none");
}

// What it has begun is brought to its end while the others are still there.
TEST_F(SupervisorTest, TheBinderEndsFirstThenTheGateThenTheHardwareProcess) {
  std::thread ending([this]() { all_->endAll(); });
  const std::vector<PrivdRole> order{PrivdRole::kBinder, PrivdRole::kGate, PrivdRole::kHardware};
  for (std::size_t i = 0; i < order.size(); ++i) {
    EXPECT_TRUE(isAsked(order[i], 5000)) << nameOf(order[i]);
    if (i + 1 < order.size()) {
      EXPECT_FALSE(isAsked(order[i + 1])) << nameOf(order[i + 1]);
    }
    ends(order[i]);
  }
  ending.join();
}

TEST_F(SupervisorTest, WhoHasEndedIsNotWaitedFor) {
  const auto began = Supervisor::Clock::now();
  for (const PrivdRole role : {PrivdRole::kHardware, PrivdRole::kGate, PrivdRole::kBinder}) {
    ends(role);
  }
  all_->endAll();
  EXPECT_LT(Supervisor::Clock::now() - began, std::chrono::seconds(1));
}

}  // namespace
}  // namespace vfiogate
