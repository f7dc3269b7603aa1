#include <algorithm>
#include <map>
#include <set>

#include "ipc/base/hex.h"
#include "sim/sysfs/kernel/host_objects.h"

namespace vfiogate::sim {
namespace {

constexpr std::uint32_t kDrmMajor = 226;
constexpr std::uint32_t kFramebufferMajor = 29;
constexpr const char* kVirtualNet = "sys/devices/virtual/net/";

/// Interface numbers of the whole topology: the loopback is 1, hardware follows in its order, then
/// what stands on it. They stay the same whatever comes and goes.
std::map<std::string, std::uint32_t> interfaceNumbers(const World& world) {
  std::map<std::string, std::uint32_t> numbers{{"lo", 1}};
  const auto give = [&numbers](const std::string& name) {
    if (!name.empty()) numbers.try_emplace(name, static_cast<std::uint32_t>(numbers.size() + 1));
  };
  for (const auto& [address, hardware] : world.topology.hardware) {
    for (const InterfaceSpec& face : hardware.objects.interfaces) give(face.name);
  }
  for (const auto& [address, hardware] : world.topology.hardware) {
    for (const InterfaceSpec& face : hardware.objects.interfaces) {
      give(face.master);
      for (const std::string& upper : face.upper) give(upper);
    }
  }
  return numbers;
}

/// The number at the end of "card0" or "fb1".
std::uint32_t trailingNumber(const std::string& name) {
  const std::size_t digits = name.find_last_not_of("0123456789") + 1;
  return digits < name.size() ? static_cast<std::uint32_t>(std::stoul(name.substr(digits))) : 0;
}

/// Adds interfaces, cards, framebuffers and keyboards to the tree.
class ClassFiles {
public:
  ClassFiles(Tree& tree, const World& world)
      : tree_(tree), world_(world), numbers_(interfaceNumbers(world)) {}

  void addAll() {
    tree_.add("sys/class/net", TreeNode{});
    InterfaceSpec loopback;
    loopback.name = "lo";
    loopback.flags = 0x9;
    loopback.operstate = "unknown";
    addInterface(loopback, kVirtualNet + loopback.name, 0);
    for (const auto& [address, device] : world_.devices) {
      if (!hasHostDriver(world_, device)) continue;
      const std::string above = "sys/" + devicePath(world_, device.hardware);
      for (const InterfaceSpec& face : device.hardware.objects.interfaces) {
        addHardwareInterface(face, above, device.serial);
      }
      for (const std::string& card : device.hardware.objects.cards) {
        addObject(above, "drm", card, kDrmMajor, "dri/" + card, device.serial);
      }
      for (const std::string& buffer : device.hardware.objects.framebuffers) {
        addFramebuffer(above, buffer, device.serial);
      }
      for (const InputSpec& input : device.hardware.objects.inputs) {
        addInput(above, input, device.serial);
      }
    }
  }

private:
  void addInterface(const InterfaceSpec& face, const std::string& path, std::uint64_t serial) {
    const std::uint32_t number = numbers_.at(face.name);
    tree_.addText(path + "/flags", "0x" + trimmedHex(face.flags) + "\n", serial);
    tree_.addText(path + "/operstate", face.operstate + "\n", serial);
    tree_.addText(path + "/ifindex", std::to_string(number) + "\n", serial);
    tree_.addText(path + "/address", "02:00:00:00:00:" + hexDigits(number & 0xff, 2) + "\n",
                  serial);
    tree_.addText(path + "/uevent",
                  "INTERFACE=" + face.name + "\nIFINDEX=" + std::to_string(number) + "\n", serial);
    tree_.addLink(path + "/subsystem", "sys/class/net", serial);
    tree_.addLink("sys/class/net/" + face.name, path, serial);
  }

  void addHardwareInterface(const InterfaceSpec& face, const std::string& device,
                            std::uint64_t serial) {
    const std::string parent = device + (face.parent.empty() ? "" : "/" + face.parent);
    const std::string path = parent + "/net/" + face.name;
    addInterface(face, path, serial);
    tree_.addLink(path + "/device", parent, serial);
    std::set<std::string> above(face.upper.begin(), face.upper.end());
    if (!face.master.empty()) {
      above.insert(face.master);
      tree_.addLink(path + "/master", kVirtualNet + face.master, serial);
    }
    for (const std::string& name : above) {
      const std::string upper = kVirtualNet + name;
      if (tree_.find(upper) == nullptr) {
        InterfaceSpec made;
        made.name = name;
        addInterface(made, upper, 0);
      }
      tree_.addLink(path + "/upper_" + name, upper, serial);
      tree_.addLink(upper + "/lower_" + face.name, path, serial);
    }
  }

  void addInput(const std::string& device, const InputSpec& input, std::uint64_t serial) {
    const std::string parent = device + (input.parent.empty() ? "" : "/" + input.parent);
    const std::string path = parent + "/input/" + input.name;
    tree_.addText(path + "/capabilities/key", input.keys + "\n", serial);
    tree_.addText(path + "/capabilities/rel", "0\n", serial);
    tree_.addLink(path + "/device", parent, serial);
    tree_.addLink(path + "/subsystem", "sys/class/input", serial);
    tree_.addLink("sys/class/input/" + input.name, path, serial);
  }

  /// `node` is below /dev.
  void addObject(const std::string& device, const std::string& kind, const std::string& name,
                 std::uint32_t major, const std::string& node, std::uint64_t serial) {
    const std::string path = device + "/" + kind + "/" + name;
    const std::string minor = std::to_string(trailingNumber(name));
    tree_.addText(path + "/dev", std::to_string(major) + ":" + minor + "\n", serial);
    tree_.addText(
        path + "/uevent",
        "MAJOR=" + std::to_string(major) + "\nMINOR=" + minor + "\nDEVNAME=" + node + "\n", serial);
    tree_.addLink(path + "/device", device, serial);
    tree_.addLink(path + "/subsystem", "sys/class/" + kind, serial);
    tree_.addLink("sys/class/" + kind + "/" + name, path, serial);
    TreeNode character;
    character.kind = NodeKind::kCharDevice;
    character.mode = 0660;
    character.major = major;
    character.minor = trailingNumber(name);
    tree_.add("dev/" + node, std::move(character));
  }

  /// The kernel's console is on the framebuffers as soon as there is one.
  void addFramebuffer(const std::string& device, const std::string& name, std::uint64_t serial) {
    addObject(device, "graphics", name, kFramebufferMajor, name, serial);
    tree_.addText("sys/devices/virtual/graphics/fbcon/rotate", "0\n");
    tree_.addLink("sys/class/graphics/fbcon", "sys/devices/virtual/graphics/fbcon");
    const std::string console = "sys/devices/virtual/vtconsole/vtcon1";
    tree_.addText(console + "/name", "(M) frame buffer device\n");
    tree_.addText(console + "/bind", "1\n");
    tree_.addLink("sys/class/vtconsole/vtcon1", console);
  }

  static std::string trimmedHex(std::uint32_t value) {
    const std::string digits = hexDigits(value, 8);
    return digits.substr(std::min(digits.find_first_not_of('0'), digits.size() - 1));
  }

  Tree& tree_;
  const World& world_;
  std::map<std::string, std::uint32_t> numbers_;
};

}  // namespace

void addClassFiles(Tree& tree, const World& world) {
  ClassFiles(tree, world).addAll();
}

}  // namespace vfiogate::sim
