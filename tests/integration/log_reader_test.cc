// The shipped programs where nobody reads what they say: they serve all the same, and tell later
// how much was lost.

#include "sim/base/child_process.h"
#include "sim/base/http_client.h"
#include "sim/base/temp_dir.h"
#include "tests/support/fake_sysfs.h"

#include <gmock/gmock.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

namespace vfiogate::test {
namespace {

using testing::HasSubstr;

class StoppedReader : public testing::Test {
protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root: privd serves only as root";
    chmod(dir_.path().c_str(), 0755);
    for (const char* name : {"plugind", "kubelet", "kubelet/device-plugins"}) {
      std::filesystem::create_directory(dir_.path() / name);
    }
    ASSERT_EQ(chown((dir_ / "plugind").c_str(), kPlugindUid, kPlugindUid), 0);
    std::ofstream(dir_ / "config.yaml") << "resources: [{select: {vendor: \"10de\"}}]\n";
    hardware_.add({.address = "0000:01:00.0"});
    ASSERT_EQ(mkfifo((dir_ / "log").c_str(), 0600), 0);
    log_ = open((dir_ / "log").c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    fill();
  }
  void TearDown() override { close(log_); }

  /// From now on the log has no room.
  void fill() const {
    const std::string filling(4096, 'x');
    while (write(log_, filling.data(), filling.size()) > 0) {
    }
  }

  /// With this log.
  std::unique_ptr<ChildProcess> started(std::vector<std::string> command) const {
    std::vector<std::string> words{"/bin/sh", "-c", "exec \"$0\" \"$@\" 2>\"$LOG\""};
    words.insert(words.end(), command.begin(), command.end());
    auto environment = filteredEnvironment();
    environment["LOG"] = dir_ / "log";
    return std::make_unique<ChildProcess>(words, environment);
  }
  /// True as soon as the command says this, tried again until its program is there.
  static bool says(const std::vector<std::string>& command, const std::string& text) {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (std::chrono::steady_clock::now() < until) {
      if (ChildProcess(command).says(text)) return true;
      usleep(20'000);
    }
    return false;
  }
  /// What comes after what the test filled in, up to a line that has this.
  std::string logUpTo(const std::string& text) const {
    std::string all;
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (all.find(text) == std::string::npos && std::chrono::steady_clock::now() < until) {
      char part[4096];
      const ssize_t got = read(log_, part, sizeof(part));
      if (got > 0) all.append(part, static_cast<std::size_t>(got));
      if (got <= 0) usleep(20'000);
    }
    const std::size_t filled = all.find_first_not_of('x');
    return filled == std::string::npos ? std::string() : all.substr(filled);
  }

  static constexpr uid_t kPlugindUid = 64532;
  TempDir dir_;
  FakeSysfs hardware_;
  int log_ = -1;
};

TEST_F(StoppedReader, OfPrivdsLogDoesNotStopPrivd) {
  const std::string socket = dir_ / "plugind/plugind.sock";
  const auto privd =
      started({builtProgram("privd"), "serve", "--plugind", socket, "--sysfs", hardware_.sysfs(),
               "--dev", hardware_.dev(), "--kubelet-dir", dir_ / "kubelet", "--state-dir",
               dir_ / "state", "--audit-log", dir_ / "audit.jsonl", "--uevents", "off"});
  ChildProcess plugind(
      {builtProgram("plugind"), "--listen", socket, "--config", dir_ / "config.yaml"},
      filteredEnvironment());
  EXPECT_TRUE(plugind.says("event=privd_came")) << plugind.output();
  EXPECT_THAT(logUpTo("of=started"), HasSubstr("event=lines_left_out of=started count=1\n"));
}

TEST_F(StoppedReader, OfPlugindsLogDoesNotStopPlugind) {
  const std::string socket = dir_ / "plugind/plugind.sock";
  const auto plugind =
      started({builtProgram("plugind"), "--listen", socket, "--config", dir_ / "config.yaml"});
  EXPECT_TRUE(says({builtProgram("plugind"), "status", "--listen", socket}, "privd"));
  logUpTo("x");
  plugind->signal(SIGTERM);
  EXPECT_THAT(logUpTo("event=ending"), HasSubstr("event=lines_left_out of=all count="));
}

TEST_F(StoppedReader, OfNetdsLogDoesNotStopNetd) {
  const std::string socket = dir_ / "plugind/plugind.sock";
  logUpTo("x");
  const auto netd =
      started({builtProgram("netd"), "metrics", "--listen", "127.0.0.1:0", "--plugind", socket});
  const std::string start = logUpTo("landlock=");
  const std::string listen = "listen=127.0.0.1:";
  ASSERT_THAT(start, HasSubstr(listen));
  const auto port =
      static_cast<std::uint16_t>(std::stoul(start.substr(start.find(listen) + listen.size())));
  fill();
  for (int asked = 0; asked < 2; ++asked) {
    const auto answer = httpGet(port, "/healthz", kPatience);
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->code, 503) << answer->body;
  }
  logUpTo("x");
  netd->signal(SIGTERM);
  EXPECT_THAT(logUpTo("event=ending"), HasSubstr("event=lines_left_out of=all count=1\n"));
}

}  // namespace
}  // namespace vfiogate::test
