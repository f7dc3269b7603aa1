#include <algorithm>
#include <cerrno>
#include <optional>
#include <sstream>

#include "ipc/base/hex.h"
#include "sim/sysfs/kernel/binding.h"

namespace vfiogate::sim {
namespace {

/// Reads "10de 2684 [subvendor subdevice [class [mask [data]]]]". The subsystem's ids and the data
/// are read and not used: no simulated driver cares.
std::optional<IdMatch> parseId(const std::string& text) {
  std::istringstream words(text);
  std::vector<std::uint32_t> numbers;
  for (std::string word; words >> word;) {
    const auto number = parseHex(word);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  if (numbers.size() < 2 || numbers[0] > 0xffff || numbers[1] > 0xffff) return std::nullopt;
  IdMatch id;
  id.vendor = static_cast<std::uint16_t>(numbers[0]);
  id.device = static_cast<std::uint16_t>(numbers[1]);
  if (numbers.size() > 4) id.classCode = numbers[4];
  if (numbers.size() > 5) id.classMask = numbers[5];
  return id;
}

/// Offers every device without driver to `driver`, as the kernel does for a new id or module: it
/// waits for the lock of each that the driver would take. A probe that fails stops nothing.
StepResult offerAll(World& world, const std::string& name) {
  const Driver* driver = findDriver(world, name);
  const bool locked =
      std::any_of(world.devices.begin(), world.devices.end(), [driver](const auto& entry) {
        return driver != nullptr && entry.second.lock != 0 && matches(*driver, entry.second);
      });
  if (locked) return kWaits;
  for (auto& [address, device] : world.devices) {
    if (driver != nullptr && matches(*driver, device)) probe(world, device, *driver);
  }
  return kNext;
}

StepResult registerDriver(World& world, const std::string& name) {
  if (findDriver(world, name) != nullptr) return refused(EEXIST);
  const auto& known = world.topology.drivers;
  const auto found = std::find_if(known.begin(), known.end(),
                                  [&name](const DriverSpec& each) { return each.name == name; });
  if (found == known.end()) return refused(ENODEV);
  world.drivers.push_back(Driver{*found, {}});
  world.events.push_back({"add", "/module/" + name, "module", {}});
  return kNext;
}

}  // namespace

std::vector<Step> newIdTask(const std::string& driver, const std::string& text) {
  return {[driver, text](World& world, Task& task) {
    const auto id = parseId(text);
    Driver* target = findDriver(world, driver);
    if (!id || target == nullptr) return refused(EINVAL);
    auto& known = target->dynamicIds;
    if (std::find(known.begin(), known.end(), *id) != known.end()) return refused(EEXIST);
    known.push_back(*id);
    task.insert({[driver](World& now, Task&) { return offerAll(now, driver); }});
    return kNext;
  }};
}

int removeId(World& world, const std::string& driver, const std::string& text) {
  const auto id = parseId(text);
  Driver* target = findDriver(world, driver);
  if (!id || target == nullptr) return EINVAL;
  return std::erase(target->dynamicIds, *id) > 0 ? 0 : ENODEV;
}

std::vector<Step> loadDriverTask(const std::string& driver) {
  return {[driver](World& world, Task&) { return registerDriver(world, driver); },
          [driver](World& world, Task&) {
            return world.driversAutoprobe ? offerAll(world, driver) : kNext;
          },
          [driver](World& world, Task&) {
            world.events.push_back({"add", "/bus/pci/drivers/" + driver, "drivers", {}});
            return kNext;
          }};
}

}  // namespace vfiogate::sim
