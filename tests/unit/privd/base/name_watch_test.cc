#include "privd/base/name_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <kj/async-io.h>

#include <algorithm>
#include <fstream>

#include "sim/base/temp_dir.h"
#include "tests/support/no_inotify_left.h"

namespace vfiogate {
namespace {

class NameWatchTest : public testing::Test {
protected:
  ~NameWatchTest() noexcept override = default;

  void write(const std::string& name) { std::ofstream(dir_ / name) << "x"; }

  /// True once `watch` counted beyond `seen`; false if it did not within two seconds.
  bool sees(NameWatch& watch, std::uint64_t seen) {
    auto late = io_.provider->getTimer().afterDelay(5 * kj::SECONDS).then([]() { return false; });
    return watch.next(seen)
        .then([](std::uint64_t) { return true; })
        .exclusiveJoin(kj::mv(late))
        .wait(io_.waitScope);
  }

  TempDir dir_;
  kj::AsyncIoContext io_ = kj::setupAsyncIo();
};

TEST_F(NameWatchTest, CountsCreation) {
  NameWatch watch(io_.unixEventPort, io_.provider->getTimer(), dir_.path().c_str(), "kubelet.sock");
  EXPECT_EQ(watch.count(), 0U);
  write("kubelet.sock");
  EXPECT_TRUE(sees(watch, 0));
}

TEST_F(NameWatchTest, CountsWhatIsRenamedIntoPlace) {
  NameWatch watch(io_.unixEventPort, io_.provider->getTimer(), dir_.path().c_str(), "kubelet.sock");
  write("temporary");
  std::filesystem::rename(dir_ / "temporary", dir_ / "kubelet.sock");
  EXPECT_TRUE(sees(watch, 0));
}

TEST_F(NameWatchTest, OfAnyNameCountsWhatIsGoneToo) {
  write("held");
  NameWatch watch(io_.unixEventPort, io_.provider->getTimer(), dir_.path().c_str(), "");
  std::filesystem::remove(dir_ / "held");
  EXPECT_TRUE(sees(watch, 0));
}

TEST_F(NameWatchTest, IgnoresOtherNames) {
  NameWatch watch(io_.unixEventPort, io_.provider->getTimer(), dir_.path().c_str(), "kubelet.sock");
  write("kubelet.sock.tmp");
  write("kubelet.soc");
  write("kubelet.sock");
  EXPECT_TRUE(sees(watch, 0));
  EXPECT_EQ(watch.count(), 1U);
}

TEST_F(NameWatchTest, FindsTheDirectoryThatCameLate) {
  NameWatch watch(io_.unixEventPort, io_.provider->getTimer(), (dir_ / "late").c_str(),
                  "kubelet.sock");
  std::filesystem::create_directory(dir_ / "late");
  EXPECT_TRUE(sees(watch, 0));
}

TEST_F(NameWatchTest, FollowsTheDirectoryThatIsMadeAnew) {
  std::filesystem::create_directory(dir_ / "again");
  NameWatch watch(io_.unixEventPort, io_.provider->getTimer(), (dir_ / "again").c_str(),
                  "kubelet.sock");
  std::filesystem::remove(dir_ / "again");
  std::filesystem::create_directory(dir_ / "again");
  ASSERT_TRUE(sees(watch, 0));
  const auto before = watch.count();
  write("again/kubelet.sock");
  EXPECT_TRUE(sees(watch, before));
}

TEST_F(NameWatchTest, CountsNoneTwice) {
  NameWatch watch(io_.unixEventPort, io_.provider->getTimer(), dir_.path().c_str(), "kubelet.sock");
  for (std::uint64_t round = 0; round < 20; ++round) {
    write("new");
    std::filesystem::rename(dir_ / "new", dir_ / "kubelet.sock");
    ASSERT_TRUE(sees(watch, round));
    EXPECT_EQ(watch.count(), round + 1);
  }
}

// Who else has this user, such as a tenant that chose it, may have taken all of them.
TEST_F(NameWatchTest, WhereNoInotifyIsLeftItIsCountedAgainAndAgain) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  const test::NoInotifyLeft usedUp;
  testing::internal::CaptureStderr();
  NameWatch watch(io_.unixEventPort, io_.provider->getTimer(), dir_.path().c_str(), "kubelet.sock");
  EXPECT_TRUE(sees(watch, 0));
  EXPECT_TRUE(sees(watch, watch.count()));
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_THAT(told,
              testing::HasSubstr("event=directory_unwatched directory=" + dir_.path().string()));
  EXPECT_EQ(std::ranges::count(told, '\n'), 1) << told;
}

}  // namespace
}  // namespace vfiogate
