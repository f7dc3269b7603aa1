#pragma once
// What the kubelet is to do later, each on a thread of its own.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

namespace vfiogate::sim {

/// Every method may be called from any thread.
class Errands {
public:
  using Id = std::uint64_t;

  Errands();
  /// As finish().
  ~Errands();
  Errands(const Errands&) = delete;
  Errands& operator=(const Errands&) = delete;

  /// Once, unless cancelled or halted before; 0 if it is halted.
  Id after(std::chrono::milliseconds pause, std::function<void()> act);
  /// Nothing if it has begun.
  void cancel(Id id);
  /// Nothing begins any more.
  void halt();
  /// Halts, and waits for all that has begun; but for the caller if it is one of them.
  void finish();

private:
  using Clock = std::chrono::steady_clock;
  struct Errand {
    Clock::time_point due;
    std::function<void()> act;
  };
  struct Worker {
    std::shared_ptr<std::atomic<bool>> done;
    std::thread thread;
  };

  void run();
  void begin(std::function<void()> act);

  std::mutex mutex_;
  std::condition_variable changed_;
  bool halted_ = false;
  Id last_ = 0;
  std::map<Id, Errand> errands_;
  std::list<Worker> workers_;
  std::thread polling_;
};

}  // namespace vfiogate::sim
