// The server's table is as short as it can be.

#include "privd/writer/fork_server.h"
#include "seccomp/fork_server_rules.h"
#include "seccomp/load_filter.h"
#include "seccomp/sanitizer_rules.h"
#include "tests/support/seen/reduced_table.h"
#include "tests/unit/privd/writer/write_target.h"

#include <gtest/gtest.h>

#include <sys/socket.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <span>
#include <string>

namespace vfiogate {
namespace {

constexpr int kNotLoaded = 255;

/// How a server under `table` ended that was asked for two writes and a read and then left;
/// `written` is how many of the three were carried out and answered.
int endingUnder(std::span<const Rule> table, int& written) {
  std::array<int, 2> pair{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()) != 0) std::abort();
  kj::AutoCloseFd theirs(pair[1]);
  const pid_t child = fork();
  if (child == 0) {
    close(pair[0]);
    signal(SIGCHLD, SIG_IGN);
    if (loadFilter(table)) _exit(kNotLoaded);
    serveWrites(theirs.get());
  }
  theirs = nullptr;
  {
    const ForkServer server{kj::AutoCloseFd(pair[0])};
    for (int i = 0; i < 2; ++i) {
      test::WriteTarget target;
      test::WriteTarget answers;
      if (server.ask("text", target.open(), answers.open(), -1) != 0) continue;
      const bool answered = answers.written() == std::string(sizeof(int), '\0');
      if (answered && target.written() == "text") ++written;
    }
    test::ReadSource card;
    card.saySerial("MT1");
    test::WriteTarget answers;
    const bool asked = server.askSerial(card.open(), answers.open()) == 0;
    if (asked && answers.written() == std::string(sizeof(int), '\0') + "MT1") ++written;
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST(ForkServerTable, IsEnough) {
  prepareSanitizers();
  int written = 0;
  const int status = endingUnder(kForkServerRules, written);
  EXPECT_EQ(written, 3);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

class WithoutOneRow : public testing::TestWithParam<std::size_t> {
protected:
  // Once for all servers: each would need a moment of its own.
  static void SetUpTestSuite() { prepareSanitizers(); }
};

TEST_P(WithoutOneRow, TheServerOrItsChildrenAreKilled) {
  if (kForkServerRules.at(GetParam()).isDefensive()) GTEST_SKIP() << "needed now and then";
  int written = 0;
  const int status = endingUnder(test::withoutRow(kForkServerRules, GetParam()), written);
  ASSERT_FALSE(WIFEXITED(status) && WEXITSTATUS(status) == kNotLoaded);
  const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS;
  EXPECT_TRUE(killed || written < 3) << kForkServerRules.at(GetParam()).reason();
}

INSTANTIATE_TEST_SUITE_P(All, WithoutOneRow,
                         testing::Range<std::size_t>(0, kForkServerRules.size()));

}  // namespace
}  // namespace vfiogate
