#pragma once
// Everything that `privd doctor` judges by, as it was read; nothing here reads anything.

#include "ipc/types/selector.h"
#include "ipc/types/snapshot.h"
#include "privd/bind/plan/wanted_vfs.h"
#include "privd/cli/doctor/seen.h"

#include <map>
#include <string>
#include <vector>

namespace vfiogate {

/// Below sysfs. Parameters are absent where the module is not loaded.
struct IommuFacts {
  SeenNames units;                        ///< class/iommu: "dmar0", "ivhd0", "smmu3.0x..."
  std::map<std::string, SeenText> ecaps;  ///< Intel's extended capabilities, by unit
  SeenNames firmwareTables;               ///< firmware/acpi/tables: "DMAR", "IVRS", "IORT"
};

struct VfioFacts {
  SeenText unsafeInterrupts;  ///< "Y" or "N", as those below
  SeenText unsafeNoIommu;
  SeenText disableVga;
  SeenText disableIdleD3;
  SeenText disableDenylist;
};

struct ModuleFacts {
  SeenText release;       ///< of the running kernel
  SeenNames loaded;       ///< sysfs's module/: loaded ones, and some that are built in
  SeenText dependencies;  ///< modules.dep
  SeenText builtIn;       ///< modules.builtin
};

struct DisplayFacts {
  SeenText framebuffers;     ///< /proc/fb: "0 EFI VGA"
  SeenNames simpleDisplays;  ///< devices of the platform driver simple-framebuffer
  SeenNames efiDisplays;     ///< the same of efi-framebuffer
};

/// A process that starts containers or machines, and its limits.
struct RuntimeFacts {
  std::string name;
  SeenText limits;
};

struct KubeletFacts {
  SeenPlace directory;
  std::vector<SeenPlace> below;  ///< device-plugins, pod-resources, plugins_registry
};

/// What privd binds at boot, and where that is said.
struct DeclaredDevices {
  Selector which;
  std::string where;
};

/// Who else decides at boot which driver a device gets.
struct BootFacts {
  SeenNames driverctl;                        ///< /etc/driverctl.d
  std::map<std::string, SeenText> overrides;  ///< by file, such as "pci-0000:65:00.0": the driver
  /// modprobe's directories, /etc/modprobe.d first: a file hides those of its name in later ones.
  std::vector<SeenNames> modprobe;
  std::map<std::string, SeenText> modprobeFiles;  ///< by name, those that modprobe reads
  SeenNames kept;                                 ///< the state directory's declared/
  std::vector<DeclaredDevices> declared;          ///< by `privd bind --keep` and in privd.conf
  SeenText options;                               ///< privd.conf
  std::vector<WantedVfs> vfs;                     ///< in it
};

struct HostFacts {
  Seen<Snapshot> hardware;      ///< with what operators excluded, and the changes that run
  std::string excludedProblem;  ///< why it is not known what operators excluded; empty: it is
  std::string changesProblem;   ///< why it is not known which changes run; empty: it is
  SeenText commandLine;
  SeenText processor;   ///< the beginning of /proc/cpuinfo
  SeenText interrupts;  ///< the beginning of /proc/interrupts
  IommuFacts iommu;
  VfioFacts vfio;
  ModuleFacts modules;
  BootFacts boot;
  DisplayFacts display;
  std::map<Bdf, SeenText> windows;  ///< `resource` of endpoints
  SeenText ownLimits;
  SeenNames processes;  ///< /proc, where runtimes were looked for
  std::vector<RuntimeFacts> runtimes;
  std::vector<SeenPlace> cdiDirectories;
  SeenText containerd;  ///< its config.toml
  KubeletFacts kubelet;
  SeenText apparmor;  ///< its parameter `enabled`
  SeenText selinux;   ///< fs/selinux/enforce
  int landlock = 0;   ///< the kernel's ABI; below: none, and the errno, negated; 0: not asked
  std::string sysfs;  ///< where sysfs is, links resolved
  SeenText mounts;    ///< /proc/self/mountinfo
};

}  // namespace vfiogate
