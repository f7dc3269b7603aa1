#pragma once
// How large privd's processes are while it is attacked, and how long its other work waits.

#include "sim/base/child_process.h"
#include "tests/support/seen/process_size.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>
#include <vector>

namespace vfiogate::test {

/// From its making to end(): a device that is not there is excluded and released in turn, by the
/// file that `privd hold` writes, and each time it is measured how long privd takes to say that it
/// applies that, to a few milliseconds. The sizes of the daemon and of its gate are read as often.
class ServiceWatch {
public:
  struct Sizes {
    ProcessSize before;
    ProcessSize peak;
    ProcessSize after;
  };
  struct Seen {
    Sizes daemon;
    Sizes gate;
    double medianMs = 0;
    double longestMs = 0;
    unsigned notServed = 0;  ///< not applied within 20 s
  };

  /// `stateDirectory` is that of `privd`, which has started.
  ServiceWatch(ChildProcess& privd, const std::filesystem::path& stateDirectory);
  ~ServiceWatch();
  ServiceWatch(const ServiceWatch&) = delete;
  ServiceWatch& operator=(const ServiceWatch&) = delete;

  Seen end();

private:
  void watch();
  /// One more exclusion or release, measured.
  void changeAndWait();
  void change();
  void measure();

  ChildProcess& privd_;
  const pid_t gate_;
  const std::filesystem::path exclusion_;
  Seen seen_;
  std::vector<double> waits_;
  std::atomic<bool> ending_ = false;
  std::thread thread_;
};

/// The process of privd's gate, which the daemon `privd` has started. Throws if there is none.
pid_t gateOf(pid_t privd);

/// True: privd applies an exclusion and its release, now.
bool servesOthers(ChildProcess& privd, const std::filesystem::path& stateDirectory);

}  // namespace vfiogate::test
