#include "plugind/rpc/call_queue.h"

#include <grpcpp/version_info.h>

// What an engine has to offer is experimental, and changed with 1.52. A later gRPC keeps its own.
#if GRPC_CPP_VERSION_MAJOR == 1 && GRPC_CPP_VERSION_MINOR < 52

#include <absl/status/status.h>
#include <grpc/event_engine/event_engine.h>

#include <kj/debug.h>

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace vfiogate {
namespace {

using grpc_event_engine::experimental::EndpointConfig;
using grpc_event_engine::experimental::EventEngine;
using grpc_event_engine::experimental::MemoryAllocator;
using grpc_event_engine::experimental::MemoryAllocatorFactory;
using Task = absl::AnyInvocable<void()>;
using Clock = std::chrono::steady_clock;

/// gRPC says "never" with the largest of all durations.
constexpr auto kLongestWait = std::chrono::hours(24 * 365);

/// Runs tasks in the order of their moments, on a thread of its own.
class Tasks {
public:
  std::uint64_t add(EventEngine::Duration wait, Task task) {
    const auto due =
        Clock::now() + std::min<EventEngine::Duration>(
                           std::max(wait, EventEngine::Duration::zero()), kLongestWait);
    const std::lock_guard lock(mutex_);
    waiting_.emplace(std::pair(due, ++last_), std::move(task));
    if (!std::exchange(started_, true)) std::thread([this]() { runForEver(); }).detach();
    changed_.notify_one();
    return last_;
  }

  bool cancel(std::uint64_t number) {
    Task cancelled;  // ends without the lock
    const std::lock_guard lock(mutex_);
    const auto found =
        std::ranges::find(waiting_, number, [](const auto& entry) { return entry.first.second; });
    if (found == waiting_.end()) return false;
    cancelled = std::move(found->second);
    waiting_.erase(found);
    return true;
  }

private:
  [[noreturn]] void runForEver() {
    pthread_setname_np(pthread_self(), "late_engine");
    std::unique_lock lock(mutex_);
    for (;;) {
      const auto first = waiting_.begin();
      if (first == waiting_.end()) {
        changed_.wait(lock);
      } else if (first->first.first > Clock::now()) {
        changed_.wait_until(lock, first->first.first);
      } else {
        Task task = std::move(first->second);
        waiting_.erase(first);
        lock.unlock();
        task();
        task = nullptr;
        lock.lock();
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<Clock::time_point, std::uint64_t>, Task> waiting_;
  std::uint64_t last_ = 0;
  bool started_ = false;
};

/// Of the process: gRPC makes and drops its engines as it likes.
Tasks& tasks() {
  static auto* const tasks = new Tasks;
  return *tasks;
}

/// Connects nothing and resolves nothing: plugind's filter has no call for either.
class LateEngine final : public EventEngine {
public:
  absl::StatusOr<std::unique_ptr<Listener>> CreateListener(
      Listener::AcceptCallback /*accept*/, absl::AnyInvocable<void(absl::Status)> /*shutdown*/,
      const EndpointConfig& /*config*/,
      std::unique_ptr<MemoryAllocatorFactory> /*memory*/) override {
    return absl::UnimplementedError("plugind listens nowhere");
  }
  ConnectionHandle Connect(OnConnectCallback connected, const ResolvedAddress& /*address*/,
                           const EndpointConfig& /*config*/, MemoryAllocator /*memory*/,
                           Duration /*timeout*/) override {
    Run([connected = std::move(connected)]() mutable {
      connected(absl::UnimplementedError("plugind connects to nobody"));
    });
    return {};
  }
  bool CancelConnect(ConnectionHandle /*handle*/) override { return false; }
  std::unique_ptr<DNSResolver> GetDNSResolver(
      const DNSResolver::ResolverOptions& /*options*/) override {
    KJ_FAIL_ASSERT("plugind resolves no names");
  }
  bool IsWorkerThread() override { return false; }

  void Run(Closure* closure) override {
    Run([closure]() { closure->Run(); });
  }
  void Run(Task task) override { tasks().add(Duration::zero(), std::move(task)); }
  TaskHandle RunAfter(Duration when, Closure* closure) override {
    return RunAfter(when, [closure]() { closure->Run(); });
  }
  TaskHandle RunAfter(Duration when, Task task) override {
    return {{static_cast<std::intptr_t>(tasks().add(when, std::move(task))), 0}};
  }
  bool Cancel(TaskHandle handle) override {
    return tasks().cancel(static_cast<std::uint64_t>(handle.keys[0]));
  }
};

}  // namespace

void runTasksLate() {
  grpc_event_engine::experimental::SetEventEngineFactory(
      []() { return std::make_unique<LateEngine>(); });
}

}  // namespace vfiogate

#else

void vfiogate::runTasksLate() {}

#endif
