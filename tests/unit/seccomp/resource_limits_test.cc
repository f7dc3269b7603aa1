// Each case runs in a child: what is limited for good does not come back.

#include "seccomp/resource_limits.h"

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <new>

namespace vfiogate {
namespace {

/// What `act` returns, in a child.
int inAChild(const std::function<int()>& act) {
  const pid_t child = fork();
  if (child == 0) _exit(act());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool isNow(__rlimit_resource resource, rlim_t wanted) {
  rlimit found{};
  return getrlimit(resource, &found) == 0 && found.rlim_cur == wanted && found.rlim_max == wanted;
}

void nobodyTells(const LowerLimit& lower) {
  _exit(90 + (lower.what[0] == 'd' ? 1 : 2));
}

TEST(ResourceLimits, AreForGood) {
  EXPECT_EQ(inAChild([] {
              if (limitResources({.descriptors = 300}, nobodyTells)) return 1;
              if (!isNow(RLIMIT_NOFILE, 300)) return 2;
              return 0;
            }),
            0);
}

TEST(ResourceLimits, AreLeftAloneWhereNoneIsAskedFor) {
  EXPECT_EQ(inAChild([] {
              rlimit before{};
              rlimit after{};
              getrlimit(RLIMIT_DATA, &before);
              if (limitResources({.descriptors = 300}, nobodyTells)) return 1;
              getrlimit(RLIMIT_DATA, &after);
              return before.rlim_cur == after.rlim_cur && before.rlim_max == after.rlim_max ? 0 : 2;
            }),
            0);
}

TEST(ResourceLimits, ALowerOneOfTheStartersStaysAndIsTold) {
  EXPECT_EQ(inAChild([] {
              const rlimit low{.rlim_cur = 80, .rlim_max = 90};
              if (setrlimit(RLIMIT_NOFILE, &low) != 0) return 1;
              std::string told;
              const auto tell = [&told](const LowerLimit& lower) {
                told +=
                    lower.what + std::to_string(lower.wanted) + ">" + std::to_string(lower.allowed);
              };
              if (limitResources({.descriptors = 300}, tell)) return 2;
              if (told != "descriptors300>90") return 3;
              return isNow(RLIMIT_NOFILE, 90) ? 0 : 4;
            }),
            0);
}

TEST(ResourceLimits, WithoutMemoryTheProcessSaysItsLastWords) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(inAChild([] {
              endWithoutMemory("time=? event=out_of_memory\n", [](std::string& line, WallTime now) {
                if (now > WallTime()) line.replace(5, 1, "!");
              });
              std::get_new_handler()();
              return 7;
            }),
            1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "time=! event=out_of_memory\n");
}

}  // namespace
}  // namespace vfiogate
