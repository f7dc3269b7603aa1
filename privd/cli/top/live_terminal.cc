#include "privd/cli/top/live_terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace vfiogate {
namespace {

constexpr std::string_view kBegin = "\033[?1049h\033[?25l";  // another screen, no cursor
constexpr std::string_view kEnd = "\033[?25h\033[?1049l";
constexpr int kPage = 10;

/// Waits where the terminal is slow. False: it is gone.
bool writeAll(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

winsize sizeNow() {
  winsize size = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return {};
  return size;
}

}  // namespace

bool isLiveTerminal() {
  const char* term = std::getenv("TERM");
  const bool isKnown = term != nullptr && *term != '\0' && std::string_view(term) != "dumb";
  return isKnown && isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0;
}

void LiveTerminal::captureSignals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGWINCH}) {
    kj::UnixEventPort::captureSignal(signal);
  }
}

LiveTerminal::LiveTerminal(kj::UnixEventPort& port)
    : port_(port), observer_(port, STDIN_FILENO, kj::UnixEventPort::FdObserver::OBSERVE_READ) {
  tcgetattr(STDIN_FILENO, &before_);
  termios raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  // A read of nothing returns at once; nobody is stopped without giving the screen back.
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  raw.c_cc[VSUSP] = _POSIX_VDISABLE;
  tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  writeAll(kBegin);
  ended_ = port_.onSignal(SIGINT)
               .exclusiveJoin(port_.onSignal(SIGTERM))
               .exclusiveJoin(port_.onSignal(SIGHUP))
               .then([this](siginfo_t) { end(); })
               .eagerlyEvaluate(nullptr);
  keys_ = readKeys().eagerlyEvaluate([this](kj::Exception&&) { end(); });
  resizes_ = awaitResizes().eagerlyEvaluate(nullptr);
}

LiveTerminal::~LiveTerminal() {
  writeAll(kEnd);
  tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

std::size_t LiveTerminal::width() const {
  return sizeNow().ws_col;
}

std::size_t LiveTerminal::height() const {
  return sizeNow().ws_row;
}

int LiveTerminal::takeScroll() {
  return std::exchange(scroll_, 0);
}

void LiveTerminal::draw(const std::vector<std::string>& lines) {
  std::string text = "\033[H";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    text += (i == 0 ? "" : "\r\n") + lines[i] + "\033[K";
  }
  if (!writeAll(text + "\033[J")) end();
}

kj::Promise<void> LiveTerminal::readKeys() {
  return observer_.whenBecomesReadable().then([this]() -> kj::Promise<void> {
    std::array<char, 64> keys = {};
    ssize_t count = 0;
    while ((count = ::read(STDIN_FILENO, keys.data(), keys.size())) > 0) {
      take({keys.data(), static_cast<std::size_t>(count)});
    }
    if (count < 0 && errno != EAGAIN && errno != EINTR) {
      end();
      return kj::READY_NOW;
    }
    return readKeys();
  });
}

kj::Promise<void> LiveTerminal::awaitResizes() {
  return port_.onSignal(SIGWINCH).then([this](siginfo_t) {
    woken_.notify();
    return awaitResizes();
  });
}

void LiveTerminal::take(std::string_view keys) {
  constexpr std::pair<std::string_view, int> kScrolls[] = {
      {"\033[A", -1},      {"\033[B", 1},      {"\033OA", -1}, {"\033OB", 1},
      {"\033[5~", -kPage}, {"\033[6~", kPage}, {"k", -1},      {"j", 1}};
  while (!keys.empty()) {
    std::size_t taken = 1;
    for (const auto& [key, lines] : kScrolls) {
      if (!keys.starts_with(key)) continue;
      scroll_ += lines;
      taken = key.size();
      break;
    }
    if (keys.front() == 'q' || keys.front() == 'Q') isWanted_ = false;
    keys.remove_prefix(taken);
  }
  woken_.notify();
}

void LiveTerminal::end() {
  isWanted_ = false;
  woken_.notify();
}

}  // namespace vfiogate
