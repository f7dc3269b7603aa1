#include "tests/bench/discovery/bare_listener.h"

#include "privd/scan/uevent_socket.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <array>

namespace vfiogate::bench {
namespace {

/// As privd's, but it waits for an event.
kj::AutoCloseFd openListening() {
  auto opened = openUeventSocket();
  if (!opened || fcntl(*opened, F_SETFL, 0) != 0) {
    giveUp("nobody can listen to the kernel's events");
  }
  return kj::mv(opened).value();
}

}  // namespace

BareListener::BareListener(sim::UeventInjector& events)
    : events_(events), socket_(openListening()), thread_([this]() { listen(); }) {}

BareListener::~BareListener() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  events_.inject({"change", "/module/over", "module", {}});  // or it waits for one
  thread_.join();
}

Took BareListener::hear(const std::vector<sim::Uevent>& events) {
  {
    const std::lock_guard lock(mutex_);
    left_ = events.size();
  }
  const auto began = Clock::now();
  for (const sim::Uevent& event : events) {
    if (events_.inject(event) != 0) giveUp("an event is not sent");
  }
  std::unique_lock lock(mutex_);
  const bool all = heard_.wait_for(lock, test::kPatience, [this]() { return left_ == 0; });
  if (!all) giveUp("not all events arrive");
  return last_ - began;
}

void BareListener::listen() {
  std::array<char, 8192> text;
  for (;;) {
    iovec part = {text.data(), text.size()};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    const bool received = recvmsg(socket_, &message, 0) > 0;
    const auto now = Clock::now();
    const std::lock_guard lock(mutex_);
    if (over_) return;
    if (!received || left_ == 0 || --left_ > 0) continue;
    last_ = now;
    heard_.notify_one();
  }
}

}  // namespace vfiogate::bench
