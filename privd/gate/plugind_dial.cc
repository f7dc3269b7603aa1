#include "privd/gate/plugind_dial.h"

#include "ipc/gate/opening.h"
#include "ipc/socket/unix_socket.h"
#include "privd/base/log_line.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace vfiogate {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kShortestPause{50};
constexpr milliseconds kLongestPause{2000};
/// Not at once: whoever makes sockets in a loop must not make us dial in one.
constexpr milliseconds kPauseAfterHint{5};

}  // namespace

PlugindDial::PlugindDial(std::string path, uid_t plugindUid)
    : path_(std::move(path)), uid_(plugindUid), pause_(kShortestPause) {}

void PlugindDial::look(Clock::time_point now) {
  const auto there = identityAt(path_.c_str());
  if (!there || there == seen_) return;
  seen_ = there;
  pause_ = kShortestPause;
  due_ = now + kPauseAfterHint;
}

kj::Maybe<kj::AutoCloseFd> PlugindDial::dial(Clock::time_point now) {
  seen_ = identityAt(path_.c_str());
  began_ = now;
  auto channel = newChannel();
  if (channel == nullptr) pause(now);
  return channel;
}

kj::Maybe<kj::AutoCloseFd> PlugindDial::newChannel() {
  auto made = dialAt(path_.c_str());
  if (!made) {
    if (!std::exchange(absenceTold_, true)) {
      logLine(LogEvent::kPlugindAbsent,
              {{"role", "gate"}, {"socket", path_}, {"error", strerror(made.error().error)}});
    }
    return nullptr;
  }
  const uid_t uid = peerOf(made->get()).uid;
  if (uid == 0 || uid != uid_) {
    logLine(
        LogEvent::kPlugindRefused,
        {{"role", "gate"}, {"socket", path_}, {"uid", kj::str(uid)}, {"expected", kj::str(uid_)}});
    return nullptr;
  }
  auto opened = sendChannelOpening(made->get(), PrivdRole::kGate, kChannelVersion);
  if (!opened) {
    logLine(LogEvent::kPlugindRefused,
            {{"role", "gate"}, {"socket", path_}, {"error", opened.error()}});
    return nullptr;
  }
  absenceTold_ = false;
  logLine(LogEvent::kPlugindConnected, {{"role", "gate"}, {"socket", path_}});
  return kj::mv(opened).value();
}

void PlugindDial::ended(Clock::time_point now) {
  // A channel that held is no failure; one that broke at once keeps the pause growing.
  if (now - began_ > kLongestPause) pause_ = kShortestPause;
  pause(now);
  look(now);
}

void PlugindDial::pause(Clock::time_point now) {
  due_ = now + pause_;
  pause_ = std::min<Clock::duration>(pause_ * 2, kLongestPause);
}

}  // namespace vfiogate
