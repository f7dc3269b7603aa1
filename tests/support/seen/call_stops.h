#pragma once
// Stops running processes at a chosen system call, from outside and without their help.

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <set>
#include <thread>
#include <vector>

namespace vfiogate::test {

/// One system call of a watched process.
struct SeenCall {
  pid_t process = 0;
  bool returned = false;  ///< false: it is about to be made
  std::int64_t number = 0;
  std::array<std::uint64_t, 6> args{};
  std::int64_t result = 0;  ///< once it returned; errors are negative errnos
};

/// Follows every system call of all threads of some processes by ptrace. Which call is the one is
/// told by `isIt`, on a thread of this object. At that call, with its thread held in front of it or
/// right behind it, `act` is run; then all go on. Needs CAP_SYS_PTRACE for processes that are not
/// dumpable. While this lives nobody else may wait for the processes.
class CallStops {
public:
  using Judge = std::function<bool(const SeenCall&)>;

  /// Returns when all threads are followed.
  CallStops(const std::vector<pid_t>& processes, Judge isIt, std::function<void()> act);
  // Lets go of them.
  ~CallStops();
  CallStops(const CallStops&) = delete;
  CallStops& operator=(const CallStops&) = delete;

  /// True when `act` has been run, false when `patience` is over or no process is left.
  bool await(std::chrono::milliseconds patience);
  /// Lets go of all. The processes that ended meanwhile; they have been waited for.
  std::set<pid_t> end();
  /// After end().
  bool acted() const { return acted_; }

private:
  struct Thread {
    pid_t process = 0;
    SeenCall call;
    bool inCall = false;  ///< `call` is valid
  };

  void run(const std::vector<pid_t>& processes, std::promise<void>& followed);
  void seize(pid_t process);
  void follow();
  /// True if the thread has been let go on.
  void atStop(pid_t thread, int status);
  void atCall(pid_t thread, Thread& state);
  void letGo();
  void ended(pid_t thread);

  const Judge isIt_;
  const std::function<void()> act_;
  std::map<pid_t, Thread> threads_;  ///< of the tracing thread
  std::set<pid_t> gone_;
  std::vector<pid_t> processes_;
  bool acted_ = false;
  std::atomic<bool> enough_{false};
  std::promise<bool> outcome_;
  std::shared_future<bool> reached_ = outcome_.get_future().share();
  std::thread tracer_;
};

}  // namespace vfiogate::test
