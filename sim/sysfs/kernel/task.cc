#include "sim/sysfs/kernel/task.h"

#include <algorithm>
#include <cerrno>
#include <iterator>

namespace vfiogate::sim {
namespace {

void releaseLocks(World& world, TaskId task) {
  if (world.rescanLock == task) world.rescanLock = 0;
  for (auto& [address, device] : world.devices) {
    if (device.lock == task) device.lock = 0;
  }
}

}  // namespace

void Task::insert(std::vector<Step> more) {
  steps.insert(steps.begin(), std::make_move_iterator(more.begin()),
               std::make_move_iterator(more.end()));
}

RunResult run(World& world, Task& task) {
  RunResult result;
  while (!task.steps.empty() && result.error == 0) {
    // Taken out first: a step may put others before what is left.
    Step step = std::move(task.steps.front());
    task.steps.pop_front();
    const StepResult did = step(world, task);
    if (did.waits) {
      task.steps.push_front(std::move(step));
      return result;
    }
    result.moved = true;
    result.error = did.error;
  }
  releaseLocks(world, task.id);
  result.ended = true;
  return result;
}

Step lockDevice(const Bdf& address) {
  return [address](World& world, Task& task) {
    const auto found = world.devices.find(address);
    if (found == world.devices.end()) return refused(ENODEV);
    if (found->second.lock != 0 && found->second.lock != task.id) return kWaits;
    found->second.lock = task.id;
    return kNext;
  };
}

Step lockRescan() {
  return [](World& world, Task& task) {
    if (world.rescanLock != 0 && world.rescanLock != task.id) return kWaits;
    world.rescanLock = task.id;
    return kNext;
  };
}

std::vector<Step> refuse(int error) {
  return {[error](World&, Task&) { return refused(error); }};
}

}  // namespace vfiogate::sim
