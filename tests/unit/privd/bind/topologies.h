#pragma once
// Hardware as plan and guards meet it: each a group as privd sees it, with what its host does with
// it.

#include "ipc/types/snapshot.h"
#include "privd/bind/plan/facts.h"

#include <string>
#include <utility>
#include <vector>

namespace vfiogate {

inline Bdf at(const char* address) {
  return *Bdf::parse(address);
}

struct Topology {
  Snapshot snapshot;
  GuardFacts facts;

  PciDevice& add(const char* address, std::uint32_t classCode, const char* driver, unsigned group,
                 std::uint8_t header = 0) {
    PciDevice device{.address = at(address)};
    device.vendor = 0x10de;
    device.device = 0x2684;
    device.classCode = classCode;
    device.headerType = header;
    device.driver = driver;
    device.group = IommuGroupId(group);
    device.enableCount = 0;
    device.vfioGroup = std::string(driver).find("vfio") != std::string::npos;
    IommuGroup& its =
        snapshot.groups.try_emplace(IommuGroupId(group), IommuGroup{.id = IommuGroupId(group)})
            .first->second;
    its.type = "DMA-FQ";
    its.use = GroupUse::kIdle;
    its.members.push_back(device.address);
    if (!device.driver.empty() && !device.vfioGroup) facts.devices[device.address];
    return snapshot.devices.insert_or_assign(device.address, device).first->second;
  }

  DeviceFacts& factsOf(const char* address) { return facts.devices[at(address)]; }
  const IommuGroup& group(unsigned number) const {
    return snapshot.groups.at(IommuGroupId(number));
  }
  IommuGroup& group(unsigned number) { return snapshot.groups.at(IommuGroupId(number)); }
};

/// One GPU, the firmware's display and the console's, with its audio function.
inline Topology laptop() {
  Topology one;
  one.add("0000:01:00.0", 0x030000, "nouveau", 12).bootVga = true;
  one.factsOf("0000:01:00.0").consoles = {"fb0"};
  one.factsOf("0000:01:00.0").module = ModuleUse{"nouveau", 2, {"drm_kms"}};
  one.add("0000:01:00.1", 0x040300, "snd_hda_intel", 12);
  one.factsOf("0000:01:00.1").module = ModuleUse{"snd_hda_intel", 0, {}};
  return one;
}

/// The same where its graphics driver is not loaded: the firmware's framebuffer draws on it.
inline Topology firmwaresLaptop() {
  Topology one;
  one.add("0000:01:00.0", 0x030000, "", 12).bootVga = true;
  one.factsOf("0000:01:00.0").consoles = {"fb0"};
  return one;
}

/// A chipset's functions in one group: ISA bridge, sound, SMBus.
inline Topology chipset() {
  Topology one;
  one.add("0000:00:1f.0", 0x060100, "lpc_ich", 9);
  one.add("0000:00:1f.3", 0x040300, "snd_hda_intel", 9);
  one.factsOf("0000:00:1f.3").module = ModuleUse{"snd_hda_intel", 0, {}};
  one.add("0000:00:1f.4", 0x0c0500, "i801_smbus", 9);
  return one;
}

/// A GPU server's NVSwitch: class bridge, header of an endpoint.
inline Topology nvSwitch() {
  Topology one;
  one.add("0000:41:00.0", 0x068000, "nvidia-nvswitch", 40);
  return one;
}

/// The root disk shares its group with a network card.
inline Topology rootDisk() {
  Topology one;
  one.add("0000:02:00.0", 0x010802, "nvme", 3);
  one.factsOf("0000:02:00.0").disks = {
      {.use = {"nvme0n1", {"nvme0n1p2 is mounted at /"}, true}, .exclusive = Exclusive::kBusy}};
  one.add("0000:03:00.0", 0x020000, "igc", 3);
  one.factsOf("0000:03:00.0").interfaces = {{.name = "eth0", .flags = 0x1002}};
  one.facts.tablesComplete = true;
  return one;
}

/// A disk of its own, unused.
inline Topology spareDisk() {
  Topology one;
  one.add("0000:04:00.0", 0x010802, "nvme", 5);
  one.factsOf("0000:04:00.0").disks = {
      {.use = {"nvme1n1", {}, false}, .exclusive = Exclusive::kGot}};
  return one;
}

/// The root disk, of which the kernel's multipath shows a hidden path below the function.
inline Topology multipathDisk() {
  Topology one = spareDisk();
  const std::string head = "/devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n1";
  const std::vector<BlockDevice> blocks{
      {.name = "nvme0c0n1", .path = "/devices/pci0000:00/0000:04:00.0/nvme/nvme0/nvme0c0n1"},
      {.name = "nvme0n1", .path = head, .number = "259:0"},
      {.name = "nvme0n1p2", .path = head + "/nvme0n1p2", .number = "259:2"}};
  one.factsOf("0000:04:00.0").disks.clear();
  const HostTables tables{.mounts = {{{"259:2", "/", "/dev/root"}}}, .swaps = {}, .routedVia = {}};
  for (DiskUse& use : disksBelow(at("0000:04:00.0"), blocks, tables)) {
    one.factsOf("0000:04:00.0").disks.push_back({.use = std::move(use)});
  }
  return one;
}

/// A network card with virtual functions, each in a group of its own.
inline Topology networkCard() {
  Topology one;
  PciDevice& card = one.add("0000:05:00.0", 0x020000, "ice", 6);
  card.sriov = SriovRole::kPhysicalFunction;
  card.virtualFunctions = 2;
  one.factsOf("0000:05:00.0").interfaces = {{.name = "eth1", .flags = 0x1003}};
  PciDevice& function = one.add("0000:05:01.0", 0x020000, "iavf", 7);
  function.sriov = SriovRole::kVirtualFunction;
  function.physicalFunction = at("0000:05:00.0");
  one.factsOf("0000:05:01.0").interfaces = {{.name = "eth1v0", .flags = 0x1002}};
  return one;
}

/// Two cards behind a bridge without ACS, the bridge in their group.
inline Topology behindBridge() {
  Topology one;
  one.add("0000:00:1c.0", 0x060400, "pcieport", 14, 1).enableCount = 2;
  one.add("0000:06:00.0", 0x020000, "e1000e", 14);
  one.factsOf("0000:06:00.0").interfaces = {{.name = "eth2", .flags = 0x1002}};
  one.add("0000:07:00.0", 0x120000, "", 14);
  return one;
}

/// A card in a Thunderbolt case, on its host driver, in use by nobody.
inline Topology thunderbolt() {
  Topology one;
  one.add("0000:3c:00.0", 0x060400, "pcieport", 20, 1);
  one.add("0000:3d:00.0", 0x030000, "amdgpu", 20);
  one.factsOf("0000:3d:00.0").module = ModuleUse{"amdgpu", 0, {}};
  return one;
}

}  // namespace vfiogate
