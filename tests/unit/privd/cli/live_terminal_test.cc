#include "privd/cli/top/live_terminal.h"

#include <gmock/gmock.h>

#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace vfiogate {
namespace {

constexpr int kPatienceMs = 20'000;

/// Draws the size of the terminal and how far it was scrolled, until it is not wanted any more.
[[noreturn]] void showSize() {
  LiveTerminal::captureSignals();
  auto io = kj::setupAsyncIo();
  {
    LiveTerminal terminal(io.unixEventPort);
    int scrolled = 0;
    while (terminal.isWanted()) {
      scrolled += terminal.takeScroll();
      terminal.draw({"size " + std::to_string(terminal.width()) + "x" +
                         std::to_string(terminal.height()) + ".",
                     "scrolled " + std::to_string(scrolled) + "."});
      terminal.next().wait(io.waitScope);
    }
  }
  _exit(0);
}

/// A child with a terminal of its own, whose other end is here.
class LiveTerminalTest : public testing::Test {
protected:
  void SetUp() override {
    winsize size = {};
    size.ws_row = 24;
    size.ws_col = 80;
    child_ = forkpty(&master_, nullptr, nullptr, &size);
    ASSERT_GE(child_, 0);
    if (child_ == 0) showSize();
    ASSERT_EQ(tcgetattr(master_, &before_), 0);
    ASSERT_TRUE(shows("size 80x24."));
  }
  void TearDown() override {
    if (child_ > 0) kill(child_, SIGKILL);
    if (child_ > 0) waitpid(child_, nullptr, 0);
    close(master_);
  }

  /// Reads until `text` was written.
  bool shows(const std::string& text) {
    while (seen_.find(text) == std::string::npos) {
      pollfd ready{.fd = master_, .events = POLLIN, .revents = 0};
      if (poll(&ready, 1, kPatienceMs) != 1) return false;
      char bytes[256];
      const ssize_t count = read(master_, bytes, sizeof(bytes));
      if (count <= 0) return false;
      seen_.append(bytes, static_cast<std::size_t>(count));
    }
    seen_.erase(0, seen_.find(text) + text.size());
    return true;
  }

  void type(const std::string& keys) const {
    ASSERT_EQ(write(master_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  }

  /// The former screen and the cursor are back, and so are line editing and echo.
  void expectGivenBack() {
    EXPECT_TRUE(shows("\033[?25h\033[?1049l"));
    int status = -1;
    ASSERT_EQ(waitpid(std::exchange(child_, -1), &status, 0) > 0, true);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    termios after = {};
    ASSERT_EQ(tcgetattr(master_, &after), 0);
    EXPECT_EQ(after.c_lflag, before_.c_lflag | ICANON | ECHO);
  }

  int master_ = -1;
  pid_t child_ = -1;
  termios before_ = {};
  std::string seen_;
};

TEST_F(LiveTerminalTest, EndsOnQ) {
  type("q");
  expectGivenBack();
}

TEST_F(LiveTerminalTest, EndsOnControlC) {
  type("\x03");
  expectGivenBack();
}

TEST_F(LiveTerminalTest, EndsOnTerm) {
  ASSERT_EQ(kill(child_, SIGTERM), 0);
  expectGivenBack();
}

TEST_F(LiveTerminalTest, TakesAnotherSize) {
  winsize size = {};
  size.ws_row = 8;
  size.ws_col = 60;
  ASSERT_EQ(ioctl(master_, TIOCSWINSZ, &size), 0);
  EXPECT_TRUE(shows("size 60x8."));
  type("q");
  expectGivenBack();
}

TEST_F(LiveTerminalTest, ScrollsByKeysAndPassesOverOthers) {
  type("x?\033[6~jjk\033[A\033[B");
  EXPECT_TRUE(shows("scrolled 11."));
  type("\033[5~");
  EXPECT_TRUE(shows("scrolled 1."));
}

}  // namespace
}  // namespace vfiogate
