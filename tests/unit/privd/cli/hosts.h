#pragma once
// Hosts as `privd doctor` may meet them, as facts.

#include "privd/cli/doctor/host_facts.h"

namespace vfiogate::test {

template <typename T>
Seen<T> seen(std::string path, T value) {
  return {std::move(path), std::move(value), 0};
}
inline SeenText text(std::string path, std::string value) {
  return seen<std::string>(std::move(path), std::move(value));
}
template <typename T = std::string>
Seen<T> unseen(std::string path, int error) {
  return {std::move(path), std::nullopt, error};
}

inline const Bdf kCard = *Bdf::parse("0000:01:00.0");
inline const Bdf kSound = *Bdf::parse("0000:01:00.1");
inline const Bdf kOther = *Bdf::parse("0000:02:00.0");

inline PciDevice card(const Bdf& address, unsigned group) {
  return {.address = address,
          .vendor = 0x10de,
          .device = 0x2684,
          .classCode = 0x030000,
          .headerType = 0,
          .driver = "vfio-pci",
          .vfioDev = 0,
          .group = IommuGroupId(group),
          .resetMethods = "flr bus",
          .enableCount = 0};
}

/// One card with its sound on vfio-pci in group 7, another in group 8.
inline Snapshot cards() {
  Snapshot hardware;
  for (const PciDevice& device : {card(kCard, 7), card(kSound, 7), card(kOther, 8)}) {
    hardware.devices.emplace(device.address, device);
  }
  hardware.groups.emplace(
      IommuGroupId(7),
      IommuGroup{IommuGroupId(7), "DMA-FQ", false, true, GroupUse::kIdle, {kCard, kSound}});
  hardware.groups.emplace(
      IommuGroupId(8),
      IommuGroup{IommuGroupId(8), "DMA-FQ", false, true, GroupUse::kIdle, {kOther}});
  hardware.controlNode = true;
  hardware.vfioPci = true;
  return hardware;
}

inline SeenPlace place(std::string path, std::uint32_t mode, std::uint32_t uid = 0) {
  return seen(std::move(path), Ownership{uid, mode, true});
}
inline std::string limits(const std::string& memlock) {
  return "Limit                     Soft Limit           Hard Limit           Units     \n"
         "Max locked memory         " +
         memlock + "            unlimited            bytes     \n";
}

/// A node on which nothing is to be mended.
inline HostFacts server() {
  HostFacts host;
  host.hardware = seen("/sys/bus/pci/devices", cards());
  host.commandLine = text("/proc/cmdline", "BOOT_IMAGE=/vmlinuz root=/dev/sda1 intel_iommu=on");
  host.processor = text("/proc/cpuinfo", "vendor_id : GenuineIntel\nflags : fpu vme de");
  host.interrupts = text("/proc/interrupts", "  1: 0 0 IR-IO-APIC 1-edge i8042");
  host.iommu.units = seen<std::vector<std::string>>("/sys/class/iommu", {"dmar0"});
  host.iommu.ecaps.emplace("dmar0", text("/sys/class/iommu/dmar0/intel-iommu/ecap", "f020df"));
  host.iommu.firmwareTables =
      seen<std::vector<std::string>>("/sys/firmware/acpi/tables", {"APIC", "DMAR"});
  host.vfio.unsafeInterrupts = text("/sys/.../allow_unsafe_interrupts", "N");
  host.vfio.unsafeNoIommu = text("/sys/.../enable_unsafe_noiommu_mode", "N");
  host.vfio.disableVga = host.vfio.disableIdleD3 = host.vfio.disableDenylist = text("/sys/p", "N");
  host.modules.loaded =
      seen<std::vector<std::string>>("/sys/module", {"vfio", "vfio_iommu_type1", "vfio_pci"});
  host.modules.dependencies = text("/lib/modules/6.1/modules.dep", "");
  host.modules.builtIn = text("/lib/modules/6.1/modules.builtin", "");
  host.boot.driverctl = unseen<std::vector<std::string>>("/etc/driverctl.d", ENOENT);
  host.boot.kept = unseen<std::vector<std::string>>("/var/lib/vfiogate/declared", ENOENT);
  host.boot.options = unseen("/etc/vfiogate/privd.conf", ENOENT);
  host.boot.modprobe = {seen<std::vector<std::string>>("/etc/modprobe.d", {}),
                        unseen<std::vector<std::string>>("/run/modprobe.d", ENOENT),
                        seen<std::vector<std::string>>("/usr/lib/modprobe.d", {})};
  host.windows.emplace(kCard, text("/sys/bus/pci/devices/0000:01:00.0/resource",
                                   "0x00000000f6000000 0x00000000f6ffffff 0x0000000000040200\n"
                                   "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"));
  host.ownLimits = text("/proc/self/limits", limits("unlimited"));
  host.processes = seen<std::vector<std::string>>("/proc", {"1", "812"});
  host.runtimes = {{"containerd", text("/proc/812/limits", limits("unlimited"))}};
  host.cdiDirectories = {place("/etc/cdi", 0755), place("/var/run/cdi", 0755)};
  host.containerd = text("/etc/containerd/config.toml", "[plugins]\n  enable_cdi = true\n");
  host.kubelet.directory = place("/var/lib/kubelet", 0755);
  host.kubelet.below = {place("/var/lib/kubelet/device-plugins", 0755),
                        place("/var/lib/kubelet/pod-resources", 0750),
                        place("/var/lib/kubelet/plugins_registry", 0755)};
  host.apparmor = unseen("/sys/module/apparmor/parameters/enabled", ENOENT);
  host.selinux = unseen("/sys/fs/selinux/enforce", ENOENT);
  host.landlock = 2;
  host.sysfs = "/sys";
  host.mounts = text("/proc/self/mountinfo",
                     "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
                     "23 22 0:21 / /sys rw,nosuid shared:7 - sysfs sysfs rw\n");
  return host;
}

/// A container to which nothing of the host was mounted.
inline HostFacts container() {
  HostFacts host;
  host.hardware = unseen<Snapshot>("/sys/bus/pci/devices", EACCES);
  for (SeenText* fact :
       {&host.commandLine, &host.processor, &host.interrupts, &host.vfio.disableVga,
        &host.vfio.unsafeInterrupts, &host.vfio.unsafeNoIommu, &host.ownLimits,
        &host.vfio.disableIdleD3, &host.vfio.disableDenylist, &host.containerd,
        &host.modules.dependencies, &host.modules.builtIn, &host.apparmor, &host.selinux,
        &host.mounts, &host.boot.options}) {
    *fact = unseen("/hidden", EACCES);
  }
  for (SeenNames* fact : {&host.iommu.units, &host.iommu.firmwareTables, &host.modules.loaded,
                          &host.processes, &host.boot.driverctl, &host.boot.kept}) {
    *fact = unseen<std::vector<std::string>>("/hidden", EACCES);
  }
  host.boot.modprobe = {unseen<std::vector<std::string>>("/hidden", EACCES)};
  host.cdiDirectories = {unseen<Ownership>("/etc/cdi", EACCES)};
  host.kubelet.directory = unseen<Ownership>("/var/lib/kubelet", EACCES);
  host.sysfs = "/sys";
  return host;
}

}  // namespace vfiogate::test
