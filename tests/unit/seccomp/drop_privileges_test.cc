// Each case runs in a child, since what is dropped does not come back; the kernel's own account
// of the child, /proc/<pid>, is what is judged.

#include "seccomp/drop_privileges.h"

#include "sim/base/process_status.h"

#include <gmock/gmock.h>

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <functional>
#include <string>
#include <thread>

namespace vfiogate {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr uid_t kId = 64532;

/// A child that ran `act`, said what came of it, and waits to be looked at until destroyed.
class Child {
public:
  explicit Child(const std::function<std::optional<StepFailure>()>& act) {
    std::array<int, 2> said{};
    if (pipe2(said.data(), O_CLOEXEC) != 0) std::abort();
    pid_ = fork();
    if (pid_ == 0) live(act, said);
    close(said[1]);
    std::array<char, 256> text{};
    const ssize_t length = read(said[0], text.data(), text.size());
    said_.assign(text.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
    close(said[0]);
  }
  // Ends and reaps the child.
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  /// "done", or the failure's text.
  const std::string& said() const { return said_; }
  std::string status(const std::string& key) const {
    return test::threadStatuses(pid_).begin()->second[key];
  }

private:
  [[noreturn]] static void live(const std::function<std::optional<StepFailure>()>& act,
                                std::array<int, 2> said) {
    // Where no step closes it.
    const int channel = dup3(said[1], kChannel, O_CLOEXEC);
    const auto failed = act();
    const std::string text = failed ? failed->str() : "done";
    if (write(channel, text.data(), text.size()) < 0) _exit(1);
    for (;;) pause();
  }

public:
  static constexpr int kChannel = 700;

private:
  pid_t pid_ = -1;
  std::string said_;
};

constexpr std::array kKeep{Child::kChannel};

std::optional<StepFailure> dropAll() {
  return dropPrivileges({.descriptors = kKeep});
}
std::optional<StepFailure> dropTo(uid_t id) {
  return dropPrivileges({.descriptors = kKeep, .identity = Identity{id, id}});
}

class DropPrivileges : public testing::Test {
protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root, to have something to drop";
  }

  static void expectNoPower(const Child& child) {
    ASSERT_EQ(child.said(), "done");
    for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}) {
      EXPECT_EQ(child.status(set), "0000000000000000") << set;
    }
    EXPECT_EQ(child.status("NoNewPrivs"), "1");
  }
};

TEST_F(DropPrivileges, LeavesRootWithoutAnyCapability) {
  const Child child(dropAll);
  expectNoPower(child);
  EXPECT_EQ(child.status("Uid"), "0\t0\t0\t0");
}

TEST_F(DropPrivileges, KeepsOneThatIsInForceOnlyWhileItIsRaised) {
  const auto keep = [] { return dropPrivilegesBut(CAP_KILL, kKeep); };
  const Child lowered(keep);
  ASSERT_EQ(lowered.said(), "done");
  EXPECT_EQ(lowered.status("CapPrm"), "0000000000000020");
  for (const char* set : {"CapInh", "CapEff", "CapBnd", "CapAmb"}) {
    EXPECT_EQ(lowered.status(set), "0000000000000000") << set;
  }
  EXPECT_EQ(lowered.status("NoNewPrivs"), "1");

  const auto raise = [&keep](bool again) {
    return [keep, again]() -> std::optional<StepFailure> {
      if (auto failed = keep()) return failed;
      if (!raiseCapability(CAP_KILL, true)) return StepFailure{"raising"};
      if (again && !raiseCapability(CAP_KILL, false)) return StepFailure{"lowering"};
      return std::nullopt;
    };
  };
  const Child raised(raise(false));
  ASSERT_EQ(raised.said(), "done");
  EXPECT_EQ(raised.status("CapEff"), "0000000000000020");
  const Child loweredAgain(raise(true));
  ASSERT_EQ(loweredAgain.said(), "done");
  EXPECT_EQ(loweredAgain.status("CapEff"), "0000000000000000");
}

TEST_F(DropPrivileges, RaisesNoOtherThanItKept) {
  const Child child([]() -> std::optional<StepFailure> {
    if (auto failed = dropPrivilegesBut(CAP_KILL, kKeep)) return failed;
    return StepFailure{raiseCapability(CAP_CHOWN, true) ? "raised" : "refused"};
  });
  EXPECT_EQ(child.said(), "refused");
}

TEST_F(DropPrivileges, KeepsNoneThatItsStarterDoesNotGive) {
  const Child child([]() -> std::optional<StepFailure> {
    if (auto failed = dropPrivilegesBut(CAP_CHOWN, kKeep)) return failed;
    if (auto failed = dropPrivilegesBut(CAP_KILL, kKeep)) return failed;
    if (raiseCapability(CAP_KILL, true)) return StepFailure{"raised"};
    return std::nullopt;
  });
  expectNoPower(child);
}

TEST_F(DropPrivileges, TakesAnotherIdentityWithoutGroups) {
  const Child child([] {
    const std::array<gid_t, 2> groups{4, 27};
    if (setgroups(groups.size(), groups.data()) != 0) return std::optional(StepFailure{"groups"});
    return dropTo(kId);
  });
  expectNoPower(child);
  EXPECT_THAT(test::identityFaults(child.pid(), kId), IsEmpty());
}

TEST_F(DropPrivileges, DoesNotMindRootWhoseCapabilitiesAreGoneAlready) {
  const Child child([] {
    if (auto failed = dropAll()) return failed;
    return dropAll();
  });
  expectNoPower(child);
}

TEST_F(DropPrivileges, DoesNotMindBeingTheOneToBecome) {
  const Child child([] {
    if (auto failed = dropTo(kId)) return failed;
    return dropTo(kId);
  });
  expectNoPower(child);
  EXPECT_THAT(test::identityFaults(child.pid(), kId), IsEmpty());
}

TEST_F(DropPrivileges, SaysWhomItCouldNotBecome) {
  const Child child([] {
    if (auto failed = dropTo(kId)) return failed;
    return dropTo(kId + 1);
  });
  EXPECT_EQ(child.said(), "becoming gid 64533: Operation not permitted");
}

TEST_F(DropPrivileges, RefusesToKeepGroupsThatItCannotDrop) {
  const Child child([] {
    const std::array<gid_t, 1> groups{27};
    if (setgroups(groups.size(), groups.data()) != 0 || setresgid(kId, kId, kId) != 0 ||
        setresuid(kId, kId, kId) != 0) {
      return std::optional(StepFailure{"setup"});
    }
    return dropTo(kId);
  });
  EXPECT_EQ(child.said(), "dropping supplementary groups: Operation not permitted");
}

TEST_F(DropPrivileges, ClosesWhatItWasNotToldToKeep) {
  const Child child([] {
    dup2(STDERR_FILENO, 40);
    dup2(STDERR_FILENO, 900);
    return dropAll();
  });
  ASSERT_EQ(child.said(), "done");
  std::vector<int> open;
  for (const auto& descriptor : test::openDescriptors(child.pid())) open.push_back(descriptor.fd);
  EXPECT_THAT(open, testing::ElementsAre(0, 1, 2, Child::kChannel));
}

TEST_F(DropPrivileges, TurnsStandardInputIntoAnEndedPipe) {
  const Child child([]() -> std::optional<StepFailure> {
    const int file = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
    if (dup2(file, STDIN_FILENO) != STDIN_FILENO) return StepFailure{"setup"};
    if (auto failed = dropAll()) return failed;
    char byte = 0;
    if (read(STDIN_FILENO, &byte, 1) != 0) return StepFailure{"input has not ended"};
    return std::nullopt;
  });
  ASSERT_EQ(child.said(), "done");
  EXPECT_EQ(test::openDescriptors(child.pid()).front().kind, mode_t{S_IFIFO});
}

TEST_F(DropPrivileges, FillsClosedStandardDescriptorsSoThatNoSocketTakesTheirPlace) {
  const Child child([] {
    for (const int fd : {0, 1, 2}) close(fd);
    return dropAll();
  });
  ASSERT_EQ(child.said(), "done");
  const auto open = test::openDescriptors(child.pid());
  ASSERT_EQ(open.size(), 4U);
  EXPECT_EQ(open[0].kind, mode_t{S_IFIFO});
  EXPECT_EQ(open[1].target, "/dev/null");
  EXPECT_EQ(open[2].target, "/dev/null");
}

TEST_F(DropPrivileges, ForbidsCoresAndDumps) {
  const Child child([]() -> std::optional<StepFailure> {
    if (auto failed = dropAll()) return failed;
    rlimit core{};
    getrlimit(RLIMIT_CORE, &core);
    if (core.rlim_cur != 0 || core.rlim_max != 0) return StepFailure{"core dumps"};
    if (prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0) return StepFailure{"dumpable"};
    return std::nullopt;
  });
  EXPECT_EQ(child.said(), "done");
}

TEST_F(DropPrivileges, RefusesWhereASecondThreadWouldKeepItsPower) {
  const Child child([] {
    std::thread([] { pause(); }).detach();
    return dropAll();
  });
  EXPECT_THAT(child.said(), HasSubstr("a thread was started before"));
}

}  // namespace
}  // namespace vfiogate
