#pragma once
// How large privd's processes are while one of them is attacked, and how long other work waits.

#include "sim/base/child_process.h"
#include "tests/support/seen/process_size.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace vfiogate::test {

/// From its making to end(): a device that is not there is excluded and released in turn, by the
/// file that `privd hold` writes, and each time it is measured how long the binder takes to say
/// that it applies that, to a few milliseconds; the gate, where no binder runs. The sizes of all
/// roles are read as often.
class ServiceWatch {
public:
  /// When a change is applied. The gate applies one for the plugind that it serves, and for nobody
  /// else.
  enum class Applied {
    kAlways,
    kUnderAttack,  ///< the one plugind is the attacker: waits before it has entered do not count
  };
  struct Sizes {
    ProcessSize before;
    ProcessSize peak;
    ProcessSize after;
  };
  struct Seen {
    std::map<std::string, Sizes> roles;  ///< "hardware", "gate", "binder"
    double medianMs = 0;
    double longestMs = 0;
    std::size_t changes = 0;
    unsigned notServed = 0;  ///< not applied within 20 s
  };

  /// `stateDirectory` is that of the daemon `privd`, which has started.
  ServiceWatch(ChildProcess& privd, const std::filesystem::path& stateDirectory,
               Applied applied = Applied::kAlways);
  ~ServiceWatch();
  ServiceWatch(const ServiceWatch&) = delete;
  ServiceWatch& operator=(const ServiceWatch&) = delete;

  Seen end();

private:
  void watch();
  /// Makes changes until one is applied.
  void awaitAttack();
  /// One more exclusion or release, measured.
  void changeAndWait();
  void change();
  void measure();
  /// What the log says of this many excluded devices.
  std::string saidOf(int devices) const;
  bool isOver() const { return ending_ && when_ == Applied::kUnderAttack; }

  ChildProcess& privd_;
  const Applied when_;
  const std::map<std::string, pid_t> pids_;  ///< by role
  const std::filesystem::path exclusion_;
  Seen seen_;
  std::vector<double> waits_;
  std::atomic<bool> ending_ = false;
  std::thread thread_;
};

/// True: privd applies an exclusion and its release, now.
bool servesOthers(ChildProcess& privd, const std::filesystem::path& stateDirectory);

}  // namespace vfiogate::test
