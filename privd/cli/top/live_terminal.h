#pragma once
// A terminal whose whole screen is written anew again and again.

#include "privd/base/broadcast.h"

#include <kj/async-io.h>
#include <kj/async-unix.h>

#include <termios.h>

#include <cstddef>
#include <string>
#include <vector>

namespace vfiogate {

/// True if stdin and stdout are a terminal that knows escape sequences.
bool isLiveTerminal();

/// Has the terminal while it lives, and gives it back as it was: the cursor, the screen before, and
/// keys that are echoed. What ends it: q, Ctrl-C, SIGTERM, or a terminal that hangs up.
class LiveTerminal {
public:
  /// Before the event loop is made.
  static void captureSignals();

  explicit LiveTerminal(kj::UnixEventPort& port);
  ~LiveTerminal();  ///< gives the terminal back
  KJ_DISALLOW_COPY(LiveTerminal);

  /// Resolves when there is a reason to draw anew: a key, another size, or the end.
  kj::Promise<void> next() { return woken_.next(); }

  /// Columns and rows now.
  std::size_t width() const;
  std::size_t height() const;

  /// False: whoever sits there has had enough.
  bool isWanted() const { return isWanted_; }
  /// By how many lines keys asked to go down since this was asked last; negative: up.
  int takeScroll();

  /// Replaces what is on the screen.
  void draw(const std::vector<std::string>& lines);

private:
  kj::Promise<void> readKeys();
  kj::Promise<void> awaitResizes();
  void take(std::string_view keys);
  void end();

  kj::UnixEventPort& port_;
  termios before_ = {};
  kj::UnixEventPort::FdObserver observer_;
  Broadcast woken_;
  bool isWanted_ = true;
  int scroll_ = 0;
  kj::Promise<void> ended_ = nullptr;  // these last: they use all of the above
  kj::Promise<void> keys_ = nullptr;
  kj::Promise<void> resizes_ = nullptr;
};

}  // namespace vfiogate
