// The threads of a process where the kernel gives none: by RLIMIT_NPROC, in a child that is not
// root.

#include "plugind/base/own_threads.h"

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace vfiogate {
namespace {

/// Of nobody else on this machine, who would count.
constexpr uid_t kUser = 64599;

int inAChild(int (*act)()) {
  const pid_t child = fork();
  if (child == 0) {
    const bool becomes = setresuid(kUser, kUser, kUser) == 0;
    _exit(becomes ? act() : 99);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// What the starter allows is the most.
void allowThreads(rlim_t count) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NPROC, &limit) != 0) _exit(97);
  limit.rlim_cur = std::min(count, limit.rlim_max);
  if (setrlimit(RLIMIT_NPROC, &limit) != 0) _exit(98);
}

/// Threads that run until the object ends.
class Running {
public:
  ~Running() {
    go_ = true;
    go_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  void add() {
    threads_.emplace_back([this]() {
      ++ran_;
      ran_.notify_all();
      go_.wait(false);
    });
  }
  void awaitRan(int count) {
    for (int ran = ran_; ran < count; ran = ran_) ran_.wait(ran);
  }

private:
  std::atomic<bool> go_ = false;
  std::atomic<int> ran_ = 0;
  std::vector<std::thread> threads_;
};

class OwnThreads : public testing::Test {
protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "RLIMIT_NPROC binds a user of its own: it needs root";
  }
};

TEST_F(OwnThreads, SpareOnesRunWhatWasWantedWhereThereIsNone) {
  EXPECT_EQ(inAChild([] {
              Running running;
              running.add();
              if (lacksThreads()) return 1;
              allowThreads(1);
              for (std::size_t i = 0; i < kSpareThreads; ++i) running.add();
              running.awaitRan(1 + static_cast<int>(kSpareThreads));
              if (!lacksThreads()) return 2;
              allowThreads(RLIM_INFINITY);
              return lacksThreads() ? 3 : 0;
            }),
            0);
}

TEST_F(OwnThreads, HalfOfTheSpareOnesInUseIsALack) {
  EXPECT_EQ(inAChild([] {
              Running running;
              running.add();
              allowThreads(1);
              for (std::size_t i = 0; i < kSpareThreads / 2; ++i) running.add();
              if (lacksThreads()) return 1;
              running.add();
              return lacksThreads() ? 0 : 2;
            }),
            0);
}

TEST_F(OwnThreads, WhereNoneIsLeftOneIsWaitedFor) {
  EXPECT_EQ(inAChild([] {
              Running running;
              running.add();
              std::atomic<bool> lifts = false;
              std::thread lifter([&lifts]() {
                lifts.wait(false);
                allowThreads(RLIM_INFINITY);
              });
              allowThreads(1);
              for (std::size_t i = 0; i < kSpareThreads; ++i) running.add();
              lifts = true;
              lifts.notify_all();
              running.add();
              running.awaitRan(2 + static_cast<int>(kSpareThreads));
              lifter.join();
              return 0;
            }),
            0);
}

TEST_F(OwnThreads, AreNotMoreThanTheMost) {
  EXPECT_EQ(inAChild([] {
              Running running;
              for (std::size_t i = 0; i < kMostThreads - kSpareThreads; ++i) running.add();
              if (lacksThreads()) return 1;
              for (std::size_t i = 0; i < kSpareThreads; ++i) running.add();
              running.awaitRan(static_cast<int>(kMostThreads));
              return lacksThreads() ? 0 : 2;
            }),
            0);
}

TEST_F(OwnThreads, WithoutAnyTheProcessEnds) {
  EXPECT_EQ(inAChild([] {
              allowThreads(1);
              std::thread([]() {}).join();
              return 0;
            }),
            1);
}

}  // namespace
}  // namespace vfiogate
