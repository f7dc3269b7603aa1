#pragma once
// The least that hearing of a change costs: a loop that does nothing but receive the kernel's
// events.

#include "sim/sysfs/uevent_injector.h"
#include "tests/bench/node_under_test.h"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace vfiogate::bench {

/// In the network namespace of the thread that makes it; to be made where nobody else sends.
class BareListener {
public:
  /// `events`: how it sends what it is to hear; outlives it.
  explicit BareListener(sim::UeventInjector& events);
  ~BareListener();
  BareListener(const BareListener&) = delete;
  BareListener& operator=(const BareListener&) = delete;

  /// From just before these are sent, one right after the other, until a thread that only waits for
  /// them has received the last.
  Took hear(const std::vector<sim::Uevent>& events);

private:
  void listen();

  sim::UeventInjector& events_;
  kj::AutoCloseFd socket_;
  std::mutex mutex_;
  std::condition_variable heard_;
  std::size_t left_ = 0;
  Clock::time_point last_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace vfiogate::bench
