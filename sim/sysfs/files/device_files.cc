#include <algorithm>

#include "ipc/base/hex.h"
#include "sim/sysfs/files/device_writes.h"
#include "sim/sysfs/kernel/host_objects.h"

namespace vfiogate::sim {
namespace {

constexpr std::size_t kHeaderBytes = 64;
constexpr std::uint32_t kDisplayBaseClass = 0x03;
constexpr std::uint8_t kMultifunction = 0x80;

/// The first 64 bytes of configuration space, little endian.
std::string configSpace(const Device& device) {
  const Hardware& hardware = device.hardware;
  if (!hardware.answers) return std::string(kHeaderBytes, '\xff');
  std::string bytes(kHeaderBytes, '\0');
  const auto put = [&bytes](std::size_t at, std::uint32_t value, std::size_t size) {
    for (std::size_t index = 0; index < size; ++index) {
      bytes[at + index] = static_cast<char>((value >> (8 * index)) & 0xff);
    }
  };
  // A virtual function's own id registers read all ones; the kernel takes them from its parent.
  const bool isVirtual = device.physicalFunction.has_value();
  put(0x00, isVirtual ? 0xffff : hardware.vendor, 2);
  put(0x02, isVirtual ? 0xffff : hardware.device, 2);
  put(0x04, device.enableCount > 0 ? 0x0507 : 0, 2);
  put(0x06, 0x0010, 2);
  put(0x08, hardware.revision, 1);
  put(0x09, hardware.classCode, 3);
  put(0x0e, (hardware.bridge ? 1U : 0U) | (hardware.multifunction ? kMultifunction : 0U), 1);
  put(0x34, 0x40, 1);
  if (hardware.bridge) {
    put(0x18, hardware.address.bus(), 1);
  } else {
    put(0x2c, hardware.subvendor, 2);
    put(0x2e, hardware.subdevice, 2);
  }
  return bytes;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text + "\n";
}

std::string ueventText(const Device& device) {
  std::string text;
  for (const auto& [key, value] : pciKeys(device)) text += key + "=" + value + "\n";
  return text;
}

/// Without leading zeros, as the kernel prints this one.
std::string shortHex(std::uint32_t value) {
  const std::string digits = hexDigits(value, 4);
  return digits.substr(std::min(digits.find_first_not_of('0'), digits.size() - 1));
}

std::string resourceText() {
  std::string text;
  for (int line = 0; line < 13; ++line) {
    text += "0x0000000000000000 0x0000000000000000 0x0000000000000000\n";
  }
  return text;
}

/// Its name, and its part and serial numbers.
std::string vitalData(const std::string& serialNumber) {
  const auto sized = [](const std::string& data) { return static_cast<char>(data.size()) + data; };
  const std::string fields = "PN" + sized("SIM") + "SN" + sized(serialNumber);
  const std::string name = "Simulated card";
  return '\x82' + std::string(1, static_cast<char>(name.size())) + '\0' + name + '\x90' +
         static_cast<char>(fields.size()) + '\0' + fields + '\x78';
}

/// Adds the files of one device to the tree.
class DeviceFiles {
public:
  DeviceFiles(Tree& tree, const World& world, const Device& device)
      : tree_(tree),
        world_(world),
        device_(device),
        path_("sys/" + devicePath(world, device.hardware)) {}

  void addAll() {
    addDescription();
    addState();
    addControls();
    if (device_.hardware.sriov) addPhysicalFunction();
    addLinks();
    addChildren();
    addOrders();
  }

private:
  void text(const std::string& name, const std::string& value) {
    if (!isAbsent(name)) tree_.addText(path_ + "/" + name, value, device_.serial);
  }

  void hex(const std::string& name, std::uint32_t value, int digits) {
    text(name, "0x" + hexDigits(value, digits) + "\n");
  }

  void link(const std::string& name, const std::string& target) {
    if (!isAbsent(name)) tree_.addLink(path_ + "/" + name, target, device_.serial);
  }

  void file(const std::string& name, std::uint32_t mode, std::string value, Writer write) {
    if (isAbsent(name)) return;
    TreeNode node;
    node.kind = NodeKind::kFile;
    node.mode = mode;
    node.text = std::move(value);
    node.identity = device_.serial;
    node.owner = device_.hardware.address.str();
    node.write = write;
    const bool locksOn61 = name == "uevent" || name == "driver_override";
    if (name == "sriov_numvfs" || (locksOn61 && world_.topology.readsWaitForUnbind)) {
      node.readWaitsFor = device_.hardware.address;
    }
    tree_.add(path_ + "/" + name, std::move(node));
  }

  bool isAbsent(const std::string& name) const {
    const auto& absent = device_.hardware.absent;
    return std::find(absent.begin(), absent.end(), name) != absent.end();
  }

  void addDescription() {
    const Hardware& hardware = device_.hardware;
    hex("vendor", hardware.vendor, 4);
    hex("device", hardware.device, 4);
    hex("subsystem_vendor", hardware.subvendor, 4);
    hex("subsystem_device", hardware.subdevice, 4);
    hex("class", hardware.classCode, 6);
    hex("revision", hardware.revision, 2);
    text("modalias", modalias(hardware) + "\n");
    text("resource", resourceText());
    text("irq", "0\n");
    file("config", 0644, configSpace(device_), nullptr);
    if (!hardware.serialNumber.empty()) {
      file("vpd", 0600, vitalData(hardware.serialNumber), nullptr);
    }
    const bool display = (hardware.classCode >> 16) == kDisplayBaseClass;
    if (display || hardware.bootVga) text("boot_vga", hardware.bootVga == true ? "1\n" : "0\n");
  }

  void addState() {
    file("enable", 0644, std::to_string(device_.enableCount) + "\n", writeEnable);
    file("numa_node", 0644, std::to_string(device_.hardware.numa) + "\n", writeNumaNode);
    file("uevent", 0644, ueventText(device_), writeUevent);
    const std::string& wanted = device_.driverOverride;
    file("driver_override", 0644, (wanted.empty() ? "(null)" : wanted) + "\n", writeDriverOverride);
    text("power/runtime_status", device_.enableCount > 0 ? "active\n" : "suspended\n");
    text("power/control", "auto\n");
  }

  void addControls() {
    file("remove", 0220, "", writeRemove);
    file("rescan", 0200, "", writeDeviceRescan);
    if (device_.hardware.reset.empty()) return;
    file("reset", 0200, "", writeReset);
    file("reset_method", 0644, joined(device_.resetMethods), writeResetMethod);
  }

  void addPhysicalFunction() {
    const SriovSpec& spec = *device_.hardware.sriov;
    text("sriov_totalvfs", std::to_string(spec.total) + "\n");
    text("sriov_offset", std::to_string(spec.offset) + "\n");
    text("sriov_stride", std::to_string(spec.stride) + "\n");
    text("sriov_vf_device", shortHex(spec.device) + "\n");
    file("sriov_numvfs", 0644, std::to_string(device_.virtualFunctions) + "\n",
         writeVirtualFunctions);
    file("sriov_drivers_autoprobe", 0644, device_.vfAutoprobe ? "1\n" : "0\n", writeVfAutoprobe);
  }

  void addLinks() {
    const std::string address = device_.hardware.address.str();
    tree_.addLink("sys/bus/pci/devices/" + address, path_, device_.serial);
    link("subsystem", "sys/bus/pci");
    if (device_.hardware.group) {
      link("iommu_group", "sys/kernel/iommu_groups/" + std::to_string(*device_.hardware.group));
    }
    if (!device_.driver.empty() && !device_.releasing) {
      const std::string driver = "sys/bus/pci/drivers/" + device_.driver;
      link("driver", driver);
      tree_.addLink(driver + "/" + address, path_, device_.serial);
    }
    if (device_.physicalFunction) addVirtualLinks(*device_.physicalFunction);
  }

  void addVirtualLinks(const Bdf& parent) {
    const auto found = world_.devices.find(parent);
    if (found == world_.devices.end()) return;
    const std::string above = "sys/" + devicePath(world_, found->second.hardware);
    link("physfn", above);
    tree_.addLink(above + "/virtfn" + std::to_string(device_.vfIndex), path_, device_.serial);
  }

  void addChildren() {
    if (!hasHostDriver(world_, device_)) return;
    for (const std::string& child : device_.hardware.children) text(child + "/uevent", "");
  }

  /// What the topology file wants read, whatever the kernel would say.
  void addOrders() {
    for (const auto& [name, value] : device_.hardware.attributes) text(name, value + "\n");
  }

  Tree& tree_;
  const World& world_;
  const Device& device_;
  std::string path_;
};

}  // namespace

void addDeviceFiles(Tree& tree, const World& world, const Device& device) {
  DeviceFiles(tree, world, device).addAll();
}

}  // namespace vfiogate::sim
