#include "sim/sysfs/files/device_writes.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <sstream>

#include "ipc/base/hex.h"
#include "sim/sysfs/kernel/hotplug.h"

namespace vfiogate::sim {
namespace {

constexpr std::size_t kPageSize = 4096;

using Change = int (*)(World&, Device&, const WriteRequest&);

Step change(Change what, const WriteRequest& request) {
  return [what, request](World& world, Task&) {
    Device* device = findDevice(world, request.owner);
    return refused(device == nullptr ? ENODEV : what(world, *device, request));
  };
}

std::vector<Step> changeLocked(Change what, const WriteRequest& request) {
  return {lockDevice(Bdf::parse(request.owner).value()), change(what, request)};
}

/// kstrtoul with base 0, as far as people use it.
std::optional<std::uint32_t> number(const WriteRequest& request) {
  const std::string_view text = withoutNewline(request.text);
  return text.starts_with("0x") ? parseHex(text) : parseDecimal(text);
}

int setOverride(World& /*world*/, Device& device, const WriteRequest& request) {
  if (request.text.size() >= kPageSize - 1) return EINVAL;
  device.driverOverride = request.text.substr(0, request.text.find('\n'));
  return 0;
}

int setEnable(World& /*world*/, Device& device, const WriteRequest& request) {
  if (!device.driver.empty()) return EBUSY;
  if (*number(request) != 0) {
    ++device.enableCount;
    return 0;
  }
  if (device.enableCount == 0) return EIO;
  --device.enableCount;
  return 0;
}

int setNumaNode(World& world, Device& device, const WriteRequest& request) {
  const std::string_view text = withoutNewline(request.text);
  int node = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), node);
  if (error != std::errc() || stop != text.data() + text.size()) return EINVAL;
  if (node < -1 || node >= world.topology.numaNodes) return EINVAL;
  device.hardware.numa = node;
  return 0;
}

int doReset(World& /*world*/, Device& device, const WriteRequest& /*request*/) {
  return device.resetMethods.empty() ? ENOTTY : 0;
}

int setResetMethods(World& /*world*/, Device& device, const WriteRequest& request) {
  const std::string_view text = withoutNewline(request.text);
  const auto& able = device.hardware.reset;
  std::vector<std::string> wanted;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) wanted.push_back(word);
  if (text == "default") wanted = able;
  for (const std::string& method : wanted) {
    if (std::find(able.begin(), able.end(), method) == able.end()) return EINVAL;
  }
  device.resetMethods = std::move(wanted);
  return 0;
}

int setVfAutoprobe(World& /*world*/, Device& device, const WriteRequest& request) {
  const std::string_view text = request.text;
  if (!text.starts_with('0') && !text.starts_with('1')) return EINVAL;
  device.vfAutoprobe = text.starts_with('1');
  return 0;
}

/// "change", "add" and the like, then optionally a UUID and KEY=value words.
int synthesize(World& world, Device& device, const WriteRequest& request) {
  std::istringstream words(request.text);
  std::string action;
  words >> action;
  constexpr std::string_view kActions[] = {"add",    "remove",  "change", "move",
                                           "online", "offline", "bind",   "unbind"};
  if (std::find(std::begin(kActions), std::end(kActions), action) == std::end(kActions)) {
    return EINVAL;
  }
  Uevent event = pciEvent(world, device, action);
  std::string uuid = "0";
  words >> uuid;
  event.keys.emplace_back("SYNTH_UUID", uuid);
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) return EINVAL;
    event.keys.emplace_back("SYNTH_ARG_" + word.substr(0, equals), word.substr(equals + 1));
  }
  world.events.push_back(std::move(event));
  return 0;
}

}  // namespace

std::vector<Step> writeUevent(const WriteRequest& request) {
  return {change(synthesize, request)};
}

std::vector<Step> writeDriverOverride(const WriteRequest& request) {
  return changeLocked(setOverride, request);
}

std::vector<Step> writeEnable(const WriteRequest& request) {
  if (!request.sysAdmin) return refuse(EPERM);
  return number(request) ? changeLocked(setEnable, request) : refuse(EINVAL);
}

std::vector<Step> writeNumaNode(const WriteRequest& request) {
  return request.sysAdmin ? std::vector{change(setNumaNode, request)} : refuse(EPERM);
}

std::vector<Step> writeReset(const WriteRequest& request) {
  return number(request) == 1U ? changeLocked(doReset, request) : refuse(EINVAL);
}

std::vector<Step> writeResetMethod(const WriteRequest& request) {
  return {change(setResetMethods, request)};
}

std::vector<Step> writeRemove(const WriteRequest& request) {
  const auto wanted = number(request);
  if (!wanted) return refuse(EINVAL);
  return *wanted == 0 ? std::vector<Step>{} : removeTask(Bdf::parse(request.owner).value());
}

std::vector<Step> writeDeviceRescan(const WriteRequest& request) {
  const auto wanted = number(request);
  if (!wanted) return refuse(EINVAL);
  return *wanted == 0 ? std::vector<Step>{} : rescanTask();
}

std::vector<Step> writeVirtualFunctions(const WriteRequest& request) {
  const auto wanted = number(request);
  if (!wanted) return refuse(EINVAL);
  return virtualFunctionsTask(Bdf::parse(request.owner).value(), *wanted);
}

std::vector<Step> writeVfAutoprobe(const WriteRequest& request) {
  return {change(setVfAutoprobe, request)};
}

}  // namespace vfiogate::sim
