#pragma once
// A plain directory laid out like sysfs and /dev, for tests.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/temp_dir.h"

namespace vfiogate {

/// A PCI function as a test describes it. Numbers are what the kernel would show.
struct FakeDevice {
  std::string address;  ///< "0000:01:00.0"
  std::uint16_t vendor = 0x10de;
  std::uint16_t device = 0x2684;
  std::uint32_t classCode = 0x030000;
  std::uint8_t headerType = 0;
  std::string driver = "vfio-pci";  ///< empty: none
  std::optional<unsigned> group = 7;
  int numaNode = -1;
  unsigned enable = 0;
};

/// Makes and changes the tree at `root()`: `sys/` with the kernel's links, `dev/` with character
/// devices (which need root). Devices live below sys/devices/pci0000:00 and are linked from
/// bus/pci/devices, their driver and their group, as the kernel does it.
class FakeSysfs {
public:
  FakeSysfs();

  std::string sysfs() const { return dir_ / "sys"; }
  std::string dev() const { return dir_ / "dev"; }

  void add(const FakeDevice& device);
  /// Takes the device away with all links to it; the group goes with its last member.
  void remove(const std::string& address);

  /// Rebinds: the driver link, and the vfio-dev directory and group node that a VFIO driver makes.
  void setDriver(const std::string& address, const std::string& driver);
  /// Moves the device to another group, as a replug may.
  void setGroup(const std::string& address, unsigned group);

  /// Another device is at its address: vendor, device and class in all files that have them.
  void setIds(const FakeDevice& device);
  void setAttribute(const std::string& address, const std::string& name, const std::string& text);
  void removeAttribute(const std::string& address, const std::string& name);
  /// Somebody opened (1) or closed (0) the device.
  void setEnable(const std::string& address, unsigned count);

  /// A region of GPUs' extended memory with its node, as the form of one file has it, below the
  /// first of them.
  void addEgm(unsigned number, const std::vector<std::string>& gpus);

  /// A physical slot whose file says `address`, such as "0000:3b:00".
  void addSlot(const std::string& name, const std::string& address);
  void removeSlot(const std::string& name);

  /// Where the device's own directory is.
  std::filesystem::path directoryOf(const std::string& address) const;

private:
  void makeNode(const std::string& name);
  void leaveGroup(const std::string& address);
  void joinGroup(const std::string& address, unsigned group);
  void updateGroupNode(unsigned group);
  void writeFile(const std::filesystem::path& path, const std::string& text);

  TempDir dir_;
  unsigned nextVfio_ = 0;
};

}  // namespace vfiogate
