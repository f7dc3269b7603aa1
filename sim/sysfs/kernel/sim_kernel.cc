#include "sim/sysfs/kernel/sim_kernel.h"

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "sim/sysfs/kernel/binding.h"
#include "sim/sysfs/kernel/hotplug.h"
#include "sim/sysfs/kernel/mediated.h"
#include "sim/sysfs/kernel/obstructions.h"

namespace vfiogate::sim {
namespace {

Step awaitDevice(const Bdf& address) {
  return [address](World& world, Task&) {
    const auto found = world.devices.find(address);
    return found != world.devices.end() && found->second.lock != 0 ? kWaits : kNext;
  };
}

/// Looks the file up again: it may have changed, or gone, while the read waited.
Step answer(const std::string& path) {
  return [path](World& world, Task& task) {
    const Tree tree = buildTree(world);
    const TreeNode* node = tree.find(path);
    if (node == nullptr) return refused(ENODEV);
    task.text = node->text;
    return kNext;
  };
}

int mayNot(const TreeNode* node, bool writing) {
  if (node == nullptr) return ENOENT;
  if (node->kind == NodeKind::kDirectory) return EISDIR;
  if (node->kind != NodeKind::kFile) return EINVAL;
  if (writing) return node->write == nullptr ? EACCES : 0;
  return (node->mode & 0444) == 0 ? EACCES : 0;
}

}  // namespace

SimKernel::SimKernel(const Topology& topology) : world_(boot(topology)) {}

TaskId SimKernel::read(const std::string& path) {
  const TreeNode* node = tree().find(path);
  if (const int error = mayNot(node, false); error != 0)
    return start("read " + path, refuse(error));
  const auto& owner = node->readWaitsFor;
  if (owner && world_.devices.at(*owner).lock != 0) {
    return start("read " + path, {awaitDevice(*owner), answer(path)});
  }
  ended_.push_back(Ended{++lastId_, 0, node->text});
  return lastId_;
}

TaskId SimKernel::write(const std::string& path, const std::string& text, bool sysAdmin) {
  const std::string what = "write " + path + " " + std::string(withoutNewline(text));
  const TreeNode* node = tree().find(path);
  if (const int error = mayNot(node, true); error != 0) return start(what, refuse(error));
  if (const int error = noteWrite(world_, lastId_ + 1, path, text); error != 0) {
    return start(what, refuse(error));
  }
  std::vector<Step> steps = node->write(WriteRequest{node->owner, text, sysAdmin});
  steps.insert(steps.begin(), obeyObstructions(path, text));
  return start(what, std::move(steps));
}

TaskId SimKernel::plug(const std::vector<Bdf>& addresses) {
  return start("plug", plugTask(addresses));
}

TaskId SimKernel::unplug(const std::vector<Bdf>& addresses) {
  return start("unplug", unplugTask(addresses));
}

TaskId SimKernel::loadDriver(const std::string& name) {
  return start("load-driver " + name, loadDriverTask(name));
}

TaskId SimKernel::rebind(const Bdf& address, const std::string& driver) {
  std::vector<Step> steps{lockDevice(address), [address, driver](World& world, Task&) {
                            world.devices.at(address).driverOverride = driver;
                            return kNext;
                          }};
  for (Step& step : releaseDriver(address)) steps.push_back(std::move(step));
  for (Step& step : bindTask(driver, address.str())) steps.push_back(std::move(step));
  return start("bind " + address.str() + " " + driver, std::move(steps));
}

TaskId SimKernel::release(const Bdf& address) {
  std::vector<Step> steps = releaseDriver(address);
  steps.insert(steps.begin(), lockDevice(address));
  return start("unbind " + address.str(), std::move(steps));
}

TaskId SimKernel::setVirtualFunctions(const Bdf& address, std::uint32_t count) {
  return start("vfs " + address.str() + " " + std::to_string(count),
               virtualFunctionsTask(address, count));
}

TaskId SimKernel::removeMediated(const std::string& uuid) {
  return start("remove-mdev " + uuid, removeMediatedTask(uuid));
}

int SimKernel::change(const std::function<int(World&)>& act) {
  const int error = act(world_);
  proceed();
  return error;
}

std::optional<Ended> SimKernel::takeEnd(TaskId id) {
  const auto found =
      std::find_if(ended_.begin(), ended_.end(), [id](const Ended& each) { return each.id == id; });
  if (found == ended_.end()) return std::nullopt;
  Ended end = std::move(*found);
  ended_.erase(found);
  return end;
}

std::vector<Ended> SimKernel::takeEnds() {
  return std::exchange(ended_, {});
}

std::vector<std::string> SimKernel::waiting() const {
  std::vector<std::string> names;
  for (const Task& task : tasks_) names.push_back(task.what);
  return names;
}

std::vector<Uevent> SimKernel::takeEvents() {
  return std::exchange(world_.events, {});
}

const Tree& SimKernel::tree() {
  if (!tree_) tree_ = buildTree(world_);
  return *tree_;
}

TaskId SimKernel::start(std::string what, std::vector<Step> steps) {
  Task task;
  task.id = ++lastId_;
  task.what = std::move(what);
  task.insert(std::move(steps));
  tasks_.push_back(std::move(task));
  proceed();
  return lastId_;
}

void SimKernel::proceed() {
  tree_.reset();
  // One task's end may let another go on: until a whole round moves nothing.
  for (bool moved = true; moved;) {
    moved = false;
    for (auto task = tasks_.begin(); task != tasks_.end();) {
      const RunResult result = run(world_, *task);
      moved = moved || result.moved;
      if (!result.ended) {
        ++task;
        continue;
      }
      noteEnd(world_, task->id, result.error);
      ended_.push_back(Ended{task->id, result.error, std::move(task->text)});
      task = tasks_.erase(task);
    }
  }
}

}  // namespace vfiogate::sim
