#include "privd/scan/uevent_wake.h"

#include <unistd.h>

#include <cerrno>

namespace vfiogate {
namespace {

constexpr auto kRest = 100 * kj::MILLISECONDS;
/// So that a flood of events cannot keep the loop from its other work.
constexpr int kMostAtOnce = 1024;

}  // namespace

UeventWake::UeventWake(kj::UnixEventPort& port, kj::Timer& timer, kj::AutoCloseFd socket,
                       kj::Function<void()> wake)
    : timer_(timer),
      socket_(kj::mv(socket)),
      observer_(port, socket_.get(), kj::UnixEventPort::FdObserver::OBSERVE_READ),
      wake_(kj::mv(wake)),
      task_(listen().eagerlyEvaluate(nullptr)) {}

kj::Promise<void> UeventWake::listen() {
  if (!drain()) return observer_.whenBecomesReadable().then([this]() { return listen(); });
  wake_();
  return timer_.afterDelay(kRest).then([this]() { return listen(); });
}

bool UeventWake::drain() {
  char first = 0;
  bool any = false;
  for (int i = 0; i < kMostAtOnce; ++i) {
    // Of each event one byte; the kernel drops the rest of it.
    if (read(socket_, &first, 1) < 0 && errno != ENOBUFS) return any;
    any = true;
  }
  return any;
}

}  // namespace vfiogate
