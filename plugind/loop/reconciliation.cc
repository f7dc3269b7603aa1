#include "plugind/loop/reconciliation.h"

#include <ctime>
#include <utility>

namespace vfiogate {
namespace {

/// From a frame to the checkpoint that follows it: two fsyncs of a busy kubelet.
constexpr auto kVersionPatience = 3 * kj::SECONDS;
constexpr int kVersions = 2;

/// The clock that the kernel stamps files with: it lags the other by up to a tick.
std::chrono::sys_time<std::chrono::nanoseconds> fileClock() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME_COARSE, &time);
  return std::chrono::sys_time<std::chrono::nanoseconds>{std::chrono::seconds{time.tv_sec} +
                                                         std::chrono::nanoseconds{time.tv_nsec}};
}

}  // namespace

Reconciliation::Reconciliation(KubeletReader& reader, kj::Timer& timer, ReconcileListener listener,
                               std::function<bool()> resend)
    : reader_(reader), timer_(timer), listener_(std::move(listener)), resend_(std::move(resend)) {}

kj::Promise<bool> Reconciliation::run() {
  const auto asked = std::chrono::steady_clock::now();
  auto done = reader_.list().then([this, asked](Result<PodList, std::string> list) {
    if (!list) return kj::Promise<bool>(false);
    listener_.listRead(*list, asked);
    return resendAndRead(kVersions);
  });
  return done.catch_([](kj::Exception&&) { return false; });
}

void Reconciliation::checkpointReplaced() {
  ++replacements_;
  KJ_IF_MAYBE (waiting, waiting_) (*waiting)->fulfill();
  waiting_ = nullptr;
}

kj::Promise<bool> Reconciliation::resendAndRead(int left) {
  if (left == 0) return true;
  resent_ = fileClock();
  seen_ = replacements_;
  if (!resend_()) return false;
  auto late = timer_.afterDelay(kVersionPatience).then([]() { return false; });
  return awaitVersion().exclusiveJoin(kj::mv(late)).then([this, left](bool read) {
    return read ? resendAndRead(left - 1) : kj::Promise<bool>(false);
  });
}

/// Of the versions that are written meanwhile only one since the resend counts.
kj::Promise<bool> Reconciliation::awaitVersion() {
  return nextReplacement()
      .then([this]() { return reader_.version(); })
      .then([this](Result<CheckpointVersion, SocketRefusal> version) -> kj::Promise<bool> {
        if (!version) return false;
        if (version->written < resent_) return awaitVersion();
        listener_.versionRead(*version);
        return true;
      });
}

kj::Promise<void> Reconciliation::nextReplacement() {
  if (replacements_ > seen_) {
    seen_ = replacements_;
    return kj::READY_NOW;
  }
  auto pair = kj::newPromiseAndFulfiller<void>();
  waiting_ = kj::mv(pair.fulfiller);
  return pair.promise.then([this]() { seen_ = replacements_; });
}

}  // namespace vfiogate
