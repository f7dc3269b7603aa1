#pragma once
// The simulated kernel as its users see it: files that are read and written, hardware that comes
// and goes, users of /dev/vfio, and the events that tell of it.

#include <optional>
#include <string>
#include <vector>

#include "sim/sysfs/kernel/sysfs_tree.h"

namespace vfiogate::sim {

/// How an operation ended.
struct Ended {
  TaskId id = 0;
  int error = 0;     ///< errno, or 0
  std::string text;  ///< of a read
};

/// Pure: no files, no clock, no threads. What blocks in the kernel is a task that has not ended;
/// it goes on by itself when another operation lifts what it waits for.
class SimKernel {
public:
  explicit SimKernel(const Topology& topology);

  /// Starts reading or writing the file at `path`, that is no link. A write through another path
  /// is found by `resolve`. ENOENT, EISDIR and EACCES end the task as from the real thing.
  TaskId read(const std::string& path);
  TaskId write(const std::string& path, const std::string& text, bool sysAdmin = true);

  TaskId plug(const std::vector<Bdf>& addresses);
  TaskId unplug(const std::vector<Bdf>& addresses);
  TaskId loadDriver(const std::string& name);

  /// What an operator does: driver_override, unbind from whoever has it, bind.
  TaskId rebind(const Bdf& address, const std::string& driver);

  /// Takes the driver away, if there is one.
  TaskId release(const Bdf& address);

  TaskId setVirtualFunctions(const Bdf& address, std::uint32_t count);

  TaskId removeMediated(const std::string& uuid);

  /// Changes the world at once with `act`, one of users.h or `renumber`; 0 or an errno.
  int change(const std::function<int(World&)>& act);

  /// Null while the operation waits, and once the end was taken.
  std::optional<Ended> takeEnd(TaskId id);
  std::vector<Ended> takeEnds();

  /// What waits, oldest first.
  std::vector<std::string> waiting() const;

  /// Kernel events since the last call, in order.
  std::vector<Uevent> takeEvents();

  const Tree& tree();
  const World& world() const { return world_; }

private:
  TaskId start(std::string what, std::vector<Step> steps);
  void proceed();

  World world_;
  std::optional<Tree> tree_;  // made when asked for, dropped with each change
  std::vector<Task> tasks_;
  std::vector<Ended> ended_;
  TaskId lastId_ = 0;
};

}  // namespace vfiogate::sim
