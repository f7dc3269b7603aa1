#include "privd/gate/gate_loop.h"

#include "privd/base/log_line.h"
#include "privd/base/plain_loop.h"

#include <algorithm>
#include <array>

namespace vfiogate {
namespace {

constexpr auto kDirectoriesPause = std::chrono::seconds(2);
constexpr auto kLeftOutPause = std::chrono::seconds(10);

enum Source : std::size_t { kSignals, kStarter, kFiles, kChannel, kSources };
using Sources = std::array<pollfd, kSources>;

}  // namespace

GateLoop::GateLoop(Deps deps)
    : deps_(deps), directoriesDue_(Clock::now()), leftOutDue_(Clock::now() + kLeftOutPause) {}

GateLoop::End GateLoop::run() {
  while (true) {
    if (auto end = turn(kLeftOutPause)) {
      drop();
      return *end;
    }
  }
}

std::optional<GateLoop::End> GateLoop::turn(Clock::duration longest) {
  const bool listens = channel_ && !channel_->due();
  Sources sources{};
  sources[kSignals] = {deps_.signals, POLLIN, 0};
  sources[kStarter] = {deps_.starter, POLLIN, 0};
  sources[kFiles] = {deps_.files.fd(), POLLIN, 0};
  sources[kChannel] = {listens ? channel_->fd() : -1, POLLIN, 0};
  awaitAny(sources, pauseUntilDue(Clock::now(), longest));
  const auto now = Clock::now();
  // Who started it says nothing: what comes is its end.
  if (sources[kSignals].revents != 0 || sources[kStarter].revents != 0) return End{};
  if (sources[kChannel].revents != 0) settle(channel_->receive(now));
  if (sources[kFiles].revents != 0 && deps_.files.drain()) look(now);
  return doWhatIsDue(now);
}

std::optional<GateLoop::End> GateLoop::doWhatIsDue(Clock::time_point now) {
  if (channel_) settle(channel_->sendAgain(now));
  if (!channel_ && now >= deps_.plugind.due()) dial(now);
  if (now >= leftOutDue_) {
    tellLeftOut();
    leftOutDue_ = now + kLeftOutPause;
  }
  if (now < directoriesDue_) return std::nullopt;
  directoriesDue_ = now + kDirectoriesPause;
  if (deps_.files.retry()) look(now);
  auto lost = deps_.lasting.lost();
  return lost ? std::optional(End{kj::mv(lost)}) : std::nullopt;
}

void GateLoop::look(Clock::time_point now) {
  if (channel_) {
    settle(channel_->tellFiles());
  } else {
    deps_.plugind.look(now);
  }
}

void GateLoop::dial(Clock::time_point now) {
  auto made = deps_.plugind.dial(now);
  KJ_IF_MAYBE (channel, made) channel_.emplace(deps_.service, kj::mv(*channel));
}

void GateLoop::settle(const GateChannel::Reason& reason) {
  if (!reason) return;
  if (*reason == kPeerLeft) {
    logLine(LogEvent::kPeerGone, {{"role", "plugind"}});
  } else {
    logLine(LogEvent::kPeerHungUp, {{"role", "plugind"}, {"reason", *reason}});
  }
  drop();
}

void GateLoop::drop() {
  if (!channel_) return;
  channel_.reset();
  deps_.service.sessionEnded();
  deps_.plugind.ended(Clock::now());
}

GateLoop::Clock::duration GateLoop::pauseUntilDue(Clock::time_point now,
                                                  Clock::duration longest) const {
  auto due = std::min({now + longest, directoriesDue_, leftOutDue_});
  if (!channel_) due = std::min(due, deps_.plugind.due());
  if (channel_ && channel_->due()) due = std::min(due, *channel_->due());
  return std::max(due - now, Clock::duration::zero());
}

}  // namespace vfiogate
