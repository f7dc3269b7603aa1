#pragma once
// How large privd is while it is attacked, and how long its other clients wait.

#include "tests/support/seen/process_size.h"

#include <sys/types.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace vfiogate::test {

/// From its making to end(): one client after the other connects to privd's own socket, enters and
/// asks a question, and the process is measured in between.
class ServiceWatch {
public:
  struct Seen {
    ProcessSize before;
    ProcessSize peak;
    ProcessSize after;
    double medianMs = 0;
    double longestMs = 0;
    unsigned notServed = 0;
  };

  ServiceWatch(pid_t privd, std::string socket);
  ~ServiceWatch();
  ServiceWatch(const ServiceWatch&) = delete;
  ServiceWatch& operator=(const ServiceWatch&) = delete;

  Seen end();
  /// One client, now; false: not answered as it should be.
  bool serves() const;

private:
  void watch();
  void measure();

  const pid_t privd_;
  const std::string socket_;
  Seen seen_;
  std::vector<double> waits_;
  std::atomic<bool> ending_ = false;
  std::thread thread_;
};

}  // namespace vfiogate::test
