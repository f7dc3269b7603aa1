#include "privd/cli/doctor/read_host.h"

#include "cli/common_options.h"
#include "privd/bind/plan/declaration.h"
#include "privd/cli/base/node_view.h"
#include "privd/cli/base/recorded_holders.h"
#include "privd/cli/doctor/tree.h"
#include "privd/scan/pci_scan.h"
#include "privd/scan/sysfs_root.h"
#include "privd/state/state_text.h"
#include "seccomp/landlock.h"

#include "ipc/base/hex.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

namespace vfiogate {
namespace {

constexpr std::size_t kBeginning = 64UL << 10U;
constexpr std::size_t kLongList = 16UL << 20U;
constexpr std::size_t kMostRuntimes = 16;
constexpr std::array kRuntimes{"containerd", "crio", "dockerd", "libvirtd", "virtqemud"};

Seen<Snapshot> readHardware(const DoctorRoots& roots) {
  const std::string devices = roots.sysfs + "/bus/pci/devices";
  const auto sysfs = SysfsRoot::open(roots.sysfs);
  if (!sysfs) return {roots.sysfs, std::nullopt, sysfs.error().error};
  if (!sysfs->exists("bus/pci/devices")) return {devices, std::nullopt, ENOENT};
  const auto dev = DevRoot::open(roots.dev);
  if (!dev) return {roots.dev, std::nullopt, dev.error().error};
  auto seen = scan(*sysfs, *dev);
  if (!seen) return {devices, std::nullopt, seen.error().error};
  Snapshot hardware = std::move(seen).value();
  // To others than root the file's mode forbids it, which says nothing of privd.
  if (geteuid() == 0) hardware.sysfsWriting = sysfsWriting(*sysfs);
  return {devices, std::move(hardware), 0};
}

IommuFacts readIommu(const Tree& sysfs) {
  IommuFacts facts;
  facts.units = sysfs.names("class/iommu");
  facts.firmwareTables = sysfs.names("firmware/acpi/tables");
  if (!facts.units) return facts;
  for (const std::string& unit : *facts.units) {
    facts.ecaps.emplace(unit, sysfs.text("class/iommu/" + unit + "/intel-iommu/ecap"));
  }
  return facts;
}

VfioFacts readVfio(const Tree& sysfs) {
  return {
      .unsafeInterrupts = sysfs.text("module/vfio_iommu_type1/parameters/allow_unsafe_interrupts"),
      .unsafeNoIommu = sysfs.text("module/vfio/parameters/enable_unsafe_noiommu_mode"),
      .disableVga = sysfs.text("module/vfio_pci/parameters/disable_vga"),
      .disableIdleD3 = sysfs.text("module/vfio_pci/parameters/disable_idle_d3"),
      .disableDenylist = sysfs.text("module/vfio_pci/parameters/disable_denylist")};
}

ModuleFacts readModules(const Tree& sysfs, const Tree& proc, const std::string& modulesDir) {
  ModuleFacts facts;
  facts.release = proc.text("sys/kernel/osrelease");
  facts.loaded = sysfs.names("module");
  if (!facts.release || facts.release->empty() || facts.release->find('/') != std::string::npos) {
    facts.dependencies = {facts.release.path, std::nullopt,
                          facts.release ? EINVAL : facts.release.error};
    facts.builtIn = facts.dependencies;
    return facts;
  }
  const Tree modules(modulesDir);
  facts.dependencies = modules.whole(*facts.release + "/modules.dep", kLongList);
  facts.builtIn = modules.whole(*facts.release + "/modules.builtin", kLongList);
  return facts;
}

std::map<Bdf, SeenText> readWindows(const Tree& sysfs, const Snapshot& hardware) {
  std::map<Bdf, SeenText> windows;
  for (const auto& [address, device] : hardware.devices) {
    if (!isEndpoint(device)) continue;
    windows.emplace(address, sysfs.text("bus/pci/devices/" + address.str() + "/resource"));
  }
  return windows;
}

bool isNumber(const std::string& name) {
  return std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
}

std::vector<RuntimeFacts> readRuntimes(const Tree& proc, const SeenNames& processes) {
  std::vector<RuntimeFacts> found;
  if (!processes) return found;
  for (const std::string& process : *processes) {
    if (!isNumber(process) || found.size() == kMostRuntimes) continue;
    const SeenText name = proc.text(process + "/comm");
    if (!name || std::ranges::find(kRuntimes, *name) == kRuntimes.end()) continue;
    found.push_back({*name, proc.text(process + "/limits")});
  }
  return found;
}

KubeletFacts readKubelet(const std::string& directory) {
  const Tree kubelet(directory);
  KubeletFacts facts{.directory = kubelet.place("")};
  for (const char* name : {"device-plugins", "pod-resources", "plugins_registry"}) {
    facts.below.push_back(kubelet.place(name));
  }
  return facts;
}

/// The files of a directory whose names `wanted` takes.
template <typename Wanted>
std::map<std::string, SeenText> readFiles(const Tree& tree, const std::string& directory,
                                          const SeenNames& names, Wanted wanted) {
  std::map<std::string, SeenText> files;
  if (!names) return files;
  for (const std::string& name : *names) {
    if (wanted(name)) files.emplace(name, tree.whole(directory + "/" + name, kBeginning));
  }
  return files;
}

void addDeclaration(const std::string& text, const std::string& where, BootFacts& boot) {
  auto which = parseDeclaration(text);
  if (which) boot.declared.push_back({std::move(which).value(), where});
}

/// The option's value, where this line of an options file is about it; empty: it is not.
std::string valueOf(std::string_view name, const std::string& line) {
  if (!line.starts_with(name)) return {};
  const std::size_t begin = line.find_first_not_of(" \t=", name.size());
  return begin == name.size() || begin == std::string::npos ? std::string() : line.substr(begin);
}

/// What `privd bind --keep` left, and the `declare` and `vfs` lines of the daemon's options file.
void readDeclared(const Tree& state, const Tree& etc, BootFacts& boot) {
  boot.kept = state.names("declared");
  for (const std::string& name : boot.kept ? *boot.kept : std::vector<std::string>()) {
    const auto address = Bdf::parse(name);
    const SeenText text = state.whole("declared/" + name, kLargestState);
    if (!address || !text) continue;
    const auto device = stateFrom<DeviceIdentity>(*address, *text + "\n");
    if (!device) continue;
    addDeclaration(name + "=" + hexDigits(device->vendor, 4) + ":" + hexDigits(device->device, 4),
                   text.path, boot);
  }
  boot.options = etc.whole("vfiogate/privd.conf", kBeginning);
  std::istringstream lines(boot.options ? *boot.options : "");
  for (std::string line; std::getline(lines, line);) {
    if (const std::string text = valueOf("declare", line); !text.empty()) {
      addDeclaration(text, boot.options.path, boot);
    } else if (auto vfs = parseVfs(valueOf("vfs", line))) {
      boot.vfs.push_back(std::move(vfs).value());
    }
  }
}

/// As modprobe: by name over all directories, each from the first that has it. Where /lib is a link
/// to /usr/lib, the last one repeats the one before.
void readModprobe(const std::string& etc, BootFacts& boot) {
  const std::string host = std::filesystem::path(etc).parent_path();
  for (const std::string& above :
       {etc, host + "/run", host + "/usr/local/lib", host + "/usr/lib", host + "/lib"}) {
    const Tree tree(above);
    boot.modprobe.push_back(tree.names("modprobe.d"));
    const SeenNames& names = boot.modprobe.back();
    for (auto& [name, file] : readFiles(tree, "modprobe.d", names, [](const std::string& each) {
           return each.ends_with(".conf");
         })) {
      std::error_code failed;
      // The usual way to hide a file of the distribution.
      const auto target = std::filesystem::read_symlink(above + "/modprobe.d/" + name, failed);
      if (!failed && target == "/dev/null") file = {file.path, "", 0};
      boot.modprobeFiles.emplace(name, file);
    }
  }
}

BootFacts readBoot(const std::string& etcName, const Tree& etc, const Tree& state) {
  BootFacts boot;
  boot.driverctl = etc.names("driverctl.d");
  boot.overrides = readFiles(etc, "driverctl.d", boot.driverctl, [](const auto&) { return true; });
  readModprobe(etcName, boot);
  readDeclared(state, etc, boot);
  return boot;
}

std::string resolved(const std::string& path) {
  std::error_code failed;
  const auto canonical = std::filesystem::canonical(path, failed);
  return failed ? path : canonical.string();
}

}  // namespace

void addRoots(CLI::App& command, DoctorRoots& roots) {
  addPathOption(command, "--sysfs", roots.sysfs, "the root below which sysfs is found");
  addPathOption(command, "--dev", roots.dev, "the root below which device nodes are looked for");
  addPathOption(command, "--proc", roots.proc,
                "the root below which the kernel's and the processes' files are found");
  addPathOption(command, "--etc", roots.etc, "the root below which the host's /etc is found");
  addPathOption(command, "--modules-dir", roots.modulesDir,
                "where each kernel's modules are listed");
  addPathOption(command, "--kubelet-dir", roots.kubeletDir, "the kubelet's directory");
  addPathOption(command, "--cdi-dir", roots.cdiDir, "where privd serve writes CDI specs");
  addPathOption(command, "--state-dir", roots.stateDir,
                std::string("the directory of what survives restarts [") + kMachinesState +
                    ", where no --sysfs or --dev is given]");
  addPathOption(command, "--record-dir", roots.recordDir,
                std::string("the record of allocations, for changes that run [") + kMachinesRecord +
                    ", where no --sysfs or --dev is given]");
}

HostFacts readHost(const DoctorRoots& roots) {
  const Tree sysfs(roots.sysfs);
  const Tree proc(roots.proc);
  const Tree etc(roots.etc);
  HostFacts facts{.hardware = readHardware(roots)};
  if (facts.hardware) {
    const UnknownStates unknown =
        markStates(*facts.hardware.value, roots.stateDir, roots.recordDir, roots.proc);
    facts.excludedProblem = unknown.excluded;
    facts.changesProblem = unknown.changes;
  }
  facts.commandLine = proc.text("cmdline");
  facts.processor = proc.text("cpuinfo", kBeginning);
  facts.interrupts = proc.text("interrupts", kLongList);
  facts.iommu = readIommu(sysfs);
  facts.vfio = readVfio(sysfs);
  facts.modules = readModules(sysfs, proc, roots.modulesDir);
  facts.boot = readBoot(roots.etc, etc, Tree(roots.stateDir));
  facts.display = {.framebuffers = proc.text("fb"),
                   .simpleDisplays = sysfs.names("bus/platform/drivers/simple-framebuffer"),
                   .efiDisplays = sysfs.names("bus/platform/drivers/efi-framebuffer")};
  if (facts.hardware) facts.windows = readWindows(sysfs, *facts.hardware);
  facts.ownLimits = proc.text("self/limits");
  facts.processes = proc.names("");
  facts.runtimes = readRuntimes(proc, facts.processes);
  facts.cdiDirectories = {etc.place("cdi"), Tree(roots.cdiDir).place("")};
  facts.containerd = etc.whole("containerd/config.toml", kLongList);
  facts.kubelet = readKubelet(roots.kubeletDir);
  facts.apparmor = sysfs.text("module/apparmor/parameters/enabled");
  facts.selinux = sysfs.text("fs/selinux/enforce");
  facts.landlock = landlockAbi();
  facts.sysfs = resolved(roots.sysfs);
  facts.mounts = proc.whole("self/mountinfo", kLongList);
  return facts;
}

}  // namespace vfiogate
