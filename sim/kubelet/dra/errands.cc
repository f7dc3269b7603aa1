#include "sim/kubelet/dra/errands.h"

#include <algorithm>

namespace vfiogate::sim {

Errands::Errands() : polling_([this]() { run(); }) {}

Errands::~Errands() {
  finish();
  polling_.join();
}

Errands::Id Errands::after(std::chrono::milliseconds pause, std::function<void()> act) {
  const std::lock_guard lock(mutex_);
  if (halted_) return 0;
  errands_[++last_] = {Clock::now() + pause, std::move(act)};
  changed_.notify_all();
  return last_;
}

void Errands::cancel(Id id) {
  const std::lock_guard lock(mutex_);
  errands_.erase(id);
}

void Errands::halt() {
  const std::lock_guard lock(mutex_);
  halted_ = true;
  errands_.clear();
  changed_.notify_all();
}

void Errands::finish() {
  halt();
  std::list<Worker> workers;
  {
    const std::lock_guard lock(mutex_);
    workers.swap(workers_);
  }
  for (Worker& worker : workers) {
    if (worker.thread.get_id() == std::this_thread::get_id()) {
      worker.thread.detach();  // it touches nothing of ours when it ends
    } else {
      worker.thread.join();
    }
  }
}

void Errands::run() {
  std::unique_lock lock(mutex_);
  while (!halted_) {
    const auto next = std::ranges::min_element(
        errands_, {}, [](const auto& errand) { return errand.second.due; });
    if (next == errands_.end()) {
      changed_.wait(lock);
      continue;
    }
    const auto due = next->second.due;
    if (due > Clock::now()) {
      changed_.wait_until(lock, due);
      continue;
    }
    auto act = std::move(next->second.act);
    errands_.erase(next);
    begin(std::move(act));
  }
}

void Errands::begin(std::function<void()> act) {
  std::erase_if(workers_, [](Worker& worker) {
    if (!*worker.done) return false;
    worker.thread.join();
    return true;
  });
  const auto done = std::make_shared<std::atomic<bool>>(false);
  workers_.push_back({done, std::thread([act = std::move(act), done]() {
                        act();
                        *done = true;
                      })});
}

}  // namespace vfiogate::sim
