#include "plugind/base/own_threads.h"

#include "plugind/base/log_line.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>

namespace vfiogate {
namespace {

using Body = void* (*)(void*);
using Create = int (*)(pthread_t*, const pthread_attr_t*, Body, void*);

int createByLibrary(pthread_t* thread, const pthread_attr_t* attributes, Body body,
                    void* argument) {
  static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  return create(thread, attributes, body, argument);
}

struct Work {
  Body body = nullptr;
  void* argument = nullptr;
};

std::atomic<std::size_t> running{0};

/// What the kernel starts: counts the thread for as long as it runs.
void* runCounted(void* handed) {
  const Work work = *static_cast<Work*>(handed);
  delete static_cast<Work*>(handed);
  void* const result = work.body(work.argument);
  --running;
  return result;
}

/// 0, or why there is no such thread.
int createCounted(pthread_t* thread, const pthread_attr_t* attributes, const Work& work) {
  if (++running > kMostThreads) {
    --running;
    return EAGAIN;
  }
  auto* const handed = new Work(work);
  const int refused = createByLibrary(thread, attributes, runCounted, handed);
  if (refused == 0) return 0;
  delete handed;
  --running;
  return refused;
}

/// Threads that wait for work. Never destroyed: they wait until the process ends.
class Spares {
public:
  /// Makes up for those that were used. 0, or why one could not be had.
  int refill() {
    const std::lock_guard lock(mutex_);
    for (Spare& spare : spares_) {
      if (spare.there) continue;
      spare.work = {};
      spare.owner = this;
      if (const int refused = createCounted(&spare.thread, nullptr, {wait, &spare})) return refused;
      spare.there = true;
      complete_ = complete_ || &spare == &spares_.back();
    }
    return 0;
  }

  /// Null: none is left.
  bool use(pthread_t* thread, const pthread_attr_t* attributes, const Work& work) {
    const std::lock_guard lock(mutex_);
    for (Spare& spare : spares_) {
      if (!spare.there || spare.work.body != nullptr) continue;
      int detached = PTHREAD_CREATE_JOINABLE;
      if (attributes != nullptr) pthread_attr_getdetachstate(attributes, &detached);
      if (detached == PTHREAD_CREATE_DETACHED) pthread_detach(spare.thread);
      *thread = spare.thread;
      spare.work = work;
      handed_.notify_all();
      return true;
    }
    return false;
  }

  /// Where nothing else can be done: whoever asked would wait for that thread all the same.
  void pause() {
    std::unique_lock lock(mutex_);
    handed_.wait_for(lock, std::chrono::milliseconds(100));
  }

  std::size_t left() {
    const std::lock_guard lock(mutex_);
    std::size_t left = 0;
    for (const Spare& spare : spares_) left += spare.there && spare.work.body == nullptr ? 1 : 0;
    return left;
  }

  /// Whether there were ever all of them: until then the process has not begun to serve.
  bool complete() {
    const std::lock_guard lock(mutex_);
    return complete_;
  }

private:
  struct Spare {
    Spares* owner = nullptr;
    pthread_t thread{};
    Work work;
    bool there = false;  ///< made, and not yet off with its work
  };

  static void* wait(void* argument) {
    auto* const spare = static_cast<Spare*>(argument);
    Work work;
    {
      std::unique_lock lock(spare->owner->mutex_);
      spare->owner->handed_.wait(lock, [spare]() { return spare->work.body != nullptr; });
      work = spare->work;
      spare->there = false;
    }
    return work.body(work.argument);
  }

  std::mutex mutex_;
  std::condition_variable handed_;
  std::array<Spare, kSpareThreads> spares_;
  bool complete_ = false;
};

Spares& spares() {
  static auto* const spares = new Spares;
  return *spares;
}

std::atomic<bool> told{false};

void tell(int refused) {
  if (told.exchange(true)) return;
  logError(
      LogEvent::kOutOfThreads,
      {{"running", running.load()}, {"most", kMostThreads}, {"why", strerrordesc_np(refused)}});
}

void refill() {
  if (spares().refill() == 0) told = false;
}

int create(pthread_t* thread, const pthread_attr_t* attributes, const Work& work) {
  for (;;) {
    const int refused = createCounted(thread, attributes, work);
    if (refused == 0) {
      refill();
      return 0;
    }
    if (refused != EAGAIN) return refused;
    tell(refused);
    if (!spares().complete()) _exit(1);
    if (spares().use(thread, attributes, work)) return 0;
    spares().pause();
  }
}

}  // namespace

bool lacksThreads() {
  if (!spares().complete()) return false;  // nothing was asked of gRPC yet
  if (spares().left() < kSpareThreads) refill();
  return spares().left() < kSpareThreads / 2;
}

}  // namespace vfiogate

/// Stands before the C library's.
extern "C" __attribute__((visibility("default"))) int pthread_create(
    pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*), void* argument) {
  return vfiogate::create(thread, attributes, {body, argument});
}
