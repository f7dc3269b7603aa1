#include "privd/gate/gate_loop.h"

#include "privd/base/log_line.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <ctime>

namespace vfiogate {
namespace {

constexpr auto kMissingPause = std::chrono::seconds(1);
constexpr auto kLastingPause = std::chrono::seconds(2);
constexpr auto kLeftOutPause = std::chrono::seconds(10);
constexpr auto kLongestTurn = kLeftOutPause;

enum Source : std::size_t { kControl, kSignals, kFiles, kChannel, kSources };
using Sources = std::array<pollfd, kSources>;

/// Not poll(), which another system call resumes in a process that was stopped and continued.
void await(Sources& sources, GateLoop::Clock::duration longest) {
  using std::chrono::nanoseconds;
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(longest);
  const timespec timeout{whole.count(), nanoseconds(longest - whole).count()};
  if (ppoll(sources.data(), sources.size(), &timeout, nullptr) >= 0) return;
  for (pollfd& source : sources) source.revents = 0;
}

}  // namespace

bool GateLoop::Timer::take(Clock::time_point now) {
  if (now < due) return false;
  due = now + pause;
  return true;
}

GateLoop::GateLoop(Deps deps)
    : deps_(deps),
      missing_{kMissingPause, Clock::now() + kMissingPause},
      lasting_{kLastingPause, Clock::now()},
      leftOut_{kLeftOutPause, Clock::now() + kLeftOutPause} {}

GateLoop::End GateLoop::run() {
  while (true) {
    if (auto end = turn(kLongestTurn)) {
      drop();
      return *end;
    }
  }
}

std::optional<GateLoop::End> GateLoop::turn(Clock::duration longest) {
  const bool listens = channel_ && !channel_->due();
  Sources sources{};
  sources[kControl] = {deps_.control, POLLIN, 0};
  sources[kSignals] = {deps_.signals, POLLIN, 0};
  sources[kFiles] = {deps_.files.fd(), POLLIN, 0};
  sources[kChannel] = {listens ? channel_->fd() : -1, POLLIN, 0};
  await(sources, pauseUntilDue(Clock::now(), longest));
  const auto now = Clock::now();
  if (sources[kSignals].revents != 0) return End{};
  if (sources[kChannel].revents != 0) settle(channel_->receive(now));
  if (sources[kControl].revents != 0 && !takeChannel()) return End{};
  const bool changed = sources[kFiles].revents != 0 && deps_.files.drain();
  if (changed && channel_) settle(channel_->tellFiles());
  return doWhatIsDue(now);
}

std::optional<GateLoop::End> GateLoop::doWhatIsDue(Clock::time_point now) {
  if (channel_) settle(channel_->sendAgain(now));
  if (missing_.take(now) && deps_.files.retry() && channel_) settle(channel_->tellFiles());
  if (leftOut_.take(now)) tellLeftOut();
  if (lasting_.take(now)) {
    if (auto lost = deps_.lasting.lost()) return End{kj::mv(lost)};
  }
  return std::nullopt;
}

bool GateLoop::takeChannel() {
  auto received = receivePacket(deps_.control, 1);
  if (!received) return false;
  auto arrived = kj::mv(received).value();
  KJ_IF_MAYBE (packet, arrived) {
    KJ_IF_MAYBE (socket, packet->fd) {
      drop();
      channel_.emplace(deps_.service, kj::mv(*socket));
    }
  }
  return true;
}

void GateLoop::settle(const GateChannel::Reason& reason) {
  if (!reason) return;
  if (*reason != kPeerLeft) {
    logLine(LogEvent::kPeerHungUp,
            {{"role", kj::str("plugind")}, {"reason", kj::str(reason->c_str())}});
  }
  drop();
}

void GateLoop::drop() {
  if (!channel_) return;
  channel_.reset();
  deps_.service.sessionEnded();
}

GateLoop::Clock::duration GateLoop::pauseUntilDue(Clock::time_point now,
                                                  Clock::duration longest) const {
  auto due = std::min({now + longest, lasting_.due, leftOut_.due});
  if (!deps_.files.complete()) due = std::min(due, missing_.due);
  if (channel_ && channel_->due()) due = std::min(due, *channel_->due());
  return std::max(due - now, Clock::duration::zero());
}

}  // namespace vfiogate
