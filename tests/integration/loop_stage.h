#pragma once
// plugind's loop in the test's own thread, with a server of its gRPC side on it.

#include "ipc/socket/unix_socket.h"
#include "plugind/base/task_queue.h"
#include "sim/base/temp_dir.h"

#include <gtest/gtest.h>

#include <kj/async-io.h>

#include <functional>
#include <future>
#include <memory>
#include <random>

namespace vfiogate {

/// How long a test waits for what must come; it costs only where something is broken.
constexpr auto kLoopPatience = 30 * kj::SECONDS;

/// What a recorder of events adds: whoever waits is woken by each.
struct Wakes {
  kj::Own<kj::PromiseFulfiller<void>> waiting;

protected:
  void wake() {
    if (waiting.get() != nullptr) waiting->fulfill();
  }
};

/// Apart from the fixture, whose destructor must not throw. Whoever adds a server closes the
/// task queue before that goes.
struct LoopStage {
  LoopStage() = default;
  ~LoopStage() noexcept(false) = default;
  KJ_DISALLOW_COPY(LoopStage);

  kj::AutoCloseFd listenAs(const char* name) const {
    return listenAt(directory.path().c_str(), name, WhoMayConnect::kEverybody).value();
  }
  kj::AutoCloseFd dial(const char* name) const {
    const auto path = directory / name;
    return dialAt(path.c_str()).value();
  }
  void await(kj::Promise<void> promise) {
    io.provider->getTimer().timeoutAfter(kLoopPatience, kj::mv(promise)).wait(io.waitScope);
  }

  TempDir directory;
  kj::AsyncIoContext io = kj::setupAsyncIo();
  std::shared_ptr<TaskQueue> taskQueue = std::make_shared<TaskQueue>();
  std::mt19937 random;
  LoopDeps loop{io.unixEventPort, *io.lowLevelProvider, io.provider->getTimer(), taskQueue, random};
  kj::Promise<void> reading = taskQueue->run(io.unixEventPort).eagerlyEvaluate(nullptr);
};

/// `Stage` is a LoopStage with a member `recorder` that Wakes.
template <typename Stage>
class LoopCase : public testing::Test {
protected:
  /// Runs the loop until `holds`, which is looked at after each event.
  void waitUntil(const std::function<bool()>& holds) {
    while (!holds()) {
      auto pair = kj::newPromiseAndFulfiller<void>();
      stage_->recorder.waiting = kj::mv(pair.fulfiller);
      stage_->await(kj::mv(pair.promise));
    }
  }

  /// Carries out `call`, which blocks, on a thread, while the loop runs.
  template <typename Call>
  auto inBackground(Call call) {
    auto pair = kj::newPromiseAndCrossThreadFulfiller<void>();
    auto result = std::async(std::launch::async, [&call, &pair]() {
      auto value = call();
      pair.fulfiller->fulfill();
      return value;
    });
    stage_->await(kj::mv(pair.promise));
    return result.get();
  }

  std::unique_ptr<Stage> stage_ = std::make_unique<Stage>();
};

}  // namespace vfiogate
