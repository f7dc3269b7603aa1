#include "privd/bind/plan/guards.h"

#include "ipc/types/viability.h"

#include <algorithm>

namespace vfiogate {
namespace {

constexpr std::uint32_t kStorageClass = 0x01;
constexpr std::uint32_t kNetworkClass = 0x02;
constexpr std::uint32_t kDisplayClass = 0x03;
constexpr std::uint32_t kInterfaceUp = 1;

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

bool anyMatches(const std::vector<Selector>& selectors, const PciDevice& device) {
  return std::ranges::any_of(selectors, [&](const Selector& one) { return matches(one, device); });
}

/// Collects what speaks against one device.
class Objections {
public:
  Objections(const Bdf& address, std::vector<Objection>& into) : address_(address), into_(into) {}

  void blocked(Guard guard, std::string reason, std::string lift) {
    into_.push_back({guard, address_, Verdict::kBlocked, std::move(reason), std::move(lift)});
  }
  void unknown(Guard guard, std::string reason, std::string lift) {
    into_.push_back({guard, address_, Verdict::kUnknown, std::move(reason), std::move(lift)});
  }

private:
  const Bdf& address_;
  std::vector<Objection>& into_;
};

bool isOfClass(const PciDevice& device, std::uint32_t base) {
  return device.classCode && (*device.classCode >> 16) == base;
}

void judgeDisk(const DiskFacts& disk, const Situation& situation, const GuardSettings& settings,
               Objections& objections) {
  const std::string uses = joined(disk.use.uses);
  const std::string& name = disk.use.disk;
  if (disk.use.root) {
    return objections.blocked(Guard::kRootDisk, "the host runs from " + name + ": " + uses,
                              "nothing: the host would lose its root file system");
  }
  if (disk.exclusive == Exclusive::kBusy || !disk.use.uses.empty()) {
    return objections.blocked(
        Guard::kBlock, uses.empty() ? name + " is open or mounted" : uses,
        "unmount it, take it out of volumes and swap, end what has it open (lsblk, fuser)");
  }
  if (disk.exclusive == Exclusive::kGot) return;
  if (!situation.facts.tablesComplete) {
    return objections.unknown(Guard::kStorage,
                              "whether " + name +
                                  " is in use cannot be told here: it cannot be "
                                  "opened, and the host's mounts are not known",
                              "--host-mountinfo FILE with --allow-storage, or --override storage");
  }
  if (!settings.allowStorage) {
    objections.unknown(Guard::kStorage,
                       name + " shows no use, but it cannot be opened to make sure",
                       "--allow-storage, or --override storage");
  }
}

void judgeInterface(const InterfaceFacts& seen, Objections& objections) {
  std::vector<std::string> uses;
  if (!seen.master.empty()) uses.push_back("belongs to " + seen.master);
  if (!seen.uppers.empty()) uses.push_back("carries " + joined(seen.uppers));
  if (seen.routed) uses.emplace_back("routes lead through it");
  if (seen.flags && (*seen.flags & kInterfaceUp) != 0) uses.emplace_back("is up");
  const std::string lift = "ip link set " + seen.name + " down, or --override network";
  if (!uses.empty()) {
    objections.blocked(Guard::kNetwork, "interface " + seen.name + " " + joined(uses), lift);
  } else if (!seen.flags) {
    objections.unknown(Guard::kNetwork, "whether interface " + seen.name + " is up cannot be read",
                       lift);
  }
}

void judgeModule(const PciDevice& device, const DeviceFacts& facts, Objections& objections) {
  const bool display = isOfClass(device, kDisplayClass);
  if (!facts.module) {
    if (!display) return;
    return objections.unknown(Guard::kUsers,
                              "who uses " + device.driver + " cannot be told: no module count",
                              "--override users, after the display server has ended");
  }
  const ModuleUse& module = *facts.module;
  if (module.references <= module.modules.size()) return;
  objections.blocked(
      Guard::kUsers,
      "module " + module.name + " is used " +
          std::to_string(module.references - module.modules.size()) +
          " times (all its devices together)" +
          (module.modules.empty() ? "" : " beside by " + joined(module.modules)),
      "end what has its devices open" +
          std::string(module.name.starts_with("nvidia")
                          ? " (nvidia-persistenced, dcgm, a display server, containers with GPUs)"
                      : display ? " (a display server, a console)"
                                : "") +
          ", or --override users");
}

/// A function that would leave its host driver, or have its first.
void judgeHostUse(const PciDevice& device, const Situation& situation,
                  const GuardSettings& settings, Objections& objections) {
  const auto known = situation.facts.devices.find(device.address);
  const DeviceFacts none;
  const DeviceFacts& facts = known == situation.facts.devices.end() ? none : known->second;
  if (device.bootVga && (!device.driver.empty() || !facts.consoles.empty())) {
    objections.blocked(Guard::kBootVga, "the firmware's display: the console may go dark",
                       "--override boot-vga");
  }
  if (!facts.consoles.empty()) {
    objections.blocked(Guard::kConsole, "the console is on " + joined(facts.consoles),
                       "--override console");
  }
  if (!facts.inputs.empty()) {
    objections.blocked(Guard::kConsole, "a keyboard or mouse hangs on it: " + joined(facts.inputs),
                       "plug it in elsewhere, or --override console");
  }
  // pci-stub holds it for nobody.
  if (device.driver.empty() || device.driver == "pci-stub") return;
  for (const DiskFacts& disk : facts.disks) judgeDisk(disk, situation, settings, objections);
  if (facts.disks.empty() && isOfClass(device, kStorageClass)) {
    objections.unknown(Guard::kStorage, "storage on " + device.driver + " without a disk in sight",
                       "--override storage, if nothing of it is in use (multipath, RAID)");
  }
  for (const InterfaceFacts& seen : facts.interfaces) judgeInterface(seen, objections);
  if (facts.interfaces.empty() && isOfClass(device, kNetworkClass)) {
    objections.unknown(Guard::kNetwork,
                       "on " + device.driver +
                           " without an interface in sight: it may be in "
                           "another network namespace",
                       "--override network, if no container has it");
  }
  if (!facts.unseenInterfaces.empty()) {
    objections.unknown(
        Guard::kNetwork,
        "an interface of " + joined(facts.unseenInterfaces) + " is in another network namespace",
        "--override network, if no container has it");
  }
  if (!facts.terminals.empty()) {
    objections.unknown(Guard::kUsers,
                       "whether " + joined(facts.terminals) + " is open cannot be told",
                       "--override users, if nobody talks over it");
  }
  if (facts.disks.empty()) judgeModule(device, facts, objections);
}

void judgePolicy(const PciDevice& device, const Situation& situation, const GuardSettings& settings,
                 Objections& objections) {
  if (anyMatches(settings.deny, device)) {
    objections.blocked(Guard::kPolicy, "a --deny of privd matches it", "another --deny");
  } else if (situation.by != ChangeBy::kOperator && !anyMatches(settings.allow, device)) {
    objections.blocked(Guard::kPolicy, "no --allow of privd matches it",
                       "--allow " + device.address.str() + " or a wider selector");
  }
}

std::string countOf(std::uint32_t vfs) {
  return std::to_string(vfs) + (vfs == 1 ? " virtual function" : " virtual functions");
}

/// It stays with its driver, which --allow and --deny are not about, and an operator named it.
void judgeVfs(const PciDevice& device, const Situation& situation, Objections& objections) {
  const std::string wanted = ", and " + std::to_string(situation.vfs) + " are wanted";
  const auto blocked = [&objections](std::string reason, std::string lift) {
    objections.blocked(Guard::kSriov, std::move(reason), std::move(lift));
  };
  if (device.sriov != SriovRole::kPhysicalFunction) {
    return blocked("it is no physical function of SR-IOV", "SR-IOV turned on in its firmware");
  }
  if (device.virtualFunctions == situation.vfs) return;
  if (device.virtualFunctions > 0) {
    return blocked("it has " + countOf(device.virtualFunctions) + wanted + ": privd ends none",
                   "write 0 to its sriov_numvfs once nobody has one of them");
  }
  if (!situation.mostVfs)
    return blocked("its sriov_totalvfs cannot be read" + wanted, "privd show");
  if (situation.vfs > *situation.mostVfs) {
    return blocked("it can have " + countOf(*situation.mostVfs) + wanted,
                   "--vfs with fewer, or more in its firmware");
  }
  if (device.driver.empty()) {
    return blocked("it has no driver, which would make them", "its host driver (modprobe)");
  }
  if (offersVfio(device)) {
    blocked("it is on " + device.driver + ", to be passed through whole",
            "privd unbind " + device.address.str());
  }
}

void judgeDevice(const PciDevice& device, const Situation& situation, const GuardSettings& settings,
                 Objections& objections) {
  if (situation.kind == ChangeKind::kCreateVfs) return judgeVfs(device, situation, objections);
  judgePolicy(device, situation, settings, objections);
  if (!isEndpoint(device)) {
    return objections.blocked(Guard::kBridge, "a bridge, by its header type",
                              "nothing: bridges are never passed through");
  }
  if (device.sriov == SriovRole::kPhysicalFunction && device.virtualFunctions > 0) {
    objections.blocked(Guard::kSriov,
                       "it has " + std::to_string(device.virtualFunctions) + " virtual functions",
                       "write 0 to its sriov_numvfs first");
  }
  if (device.vgpuType) {
    return objections.blocked(Guard::kInUse, device.driver + " makes vGPUs of it, and offers VFIO",
                              "nothing: with a type set it is allocated as it is");
  }
  if (situation.kind != ChangeKind::kBind || offersVfio(device)) return;
  if (isPlatform(device)) {
    objections.blocked(Guard::kPlatform, "part of the machine itself, by its class",
                       "--override platform=" + device.address.str() +
                           ", if you know that nothing here runs on it");
  }
  judgeHostUse(device, situation, settings, objections);
}

/// What concerns the group whole, told of the order's first device.
void judgeGroup(const Situation& situation, Objections& objections) {
  const IommuGroup& group = situation.group;
  if (group.noIommu && situation.kind == ChangeKind::kBind) {
    objections.blocked(Guard::kNoIommu, "VFIO's no-IOMMU mode isolates nothing",
                       "turn the IOMMU on, or --override no-iommu");
  }
  if (group.use == GroupUse::kOpen) {
    objections.blocked(Guard::kInUse, "a device of its group is open", "stop the VM that has it");
  } else if (group.use != GroupUse::kIdle) {
    objections.unknown(
        Guard::kInUse,
        "whether its group is in use cannot be told (" + std::string(nameOf(group.use)) + ")",
        "mediated devices removed, or a readable sysfs");
  }
  if (situation.allocated == Allocated::kYes) {
    objections.blocked(Guard::kHeld, "plugind has allocated its group: " + situation.allocation,
                       "end the pod that has it (plugind status), or --override held");
  } else if (situation.allocated == Allocated::kUnknown) {
    objections.unknown(Guard::kHeld,
                       "what plugind has allocated is not known: " + situation.allocation,
                       "a privd serve to which plugind tells it, or --override held");
  }
  if (situation.excluded && situation.by != ChangeBy::kOperator) {
    objections.blocked(Guard::kOperator, "an operator excluded it", "privd release");
  }
}

/// A member in which the kernel is stuck holds up everything in its group.
void judgeMembers(const Situation& situation, std::vector<Objection>& found) {
  for (const Bdf& member : situation.group.members) {
    const auto device = situation.snapshot.devices.find(member);
    if (device == situation.snapshot.devices.end()) continue;
    Objections objections(member, found);
    // Bridges are enabled for what is behind them, by the kernel itself.
    if (isEndpoint(device->second) && device->second.driver.empty() &&
        device->second.enableCount.value_or(0) > 0) {
      objections.blocked(Guard::kMember, "it is being unbound while in use", "stop its VM");
    }
  }
}

bool covers(const GuardOverride& override, const Objection& objection) {
  // Of these nobody means all.
  if (objection.guard == Guard::kPlatform && !override.address) return false;
  return override.guard == objection.guard &&
         (!override.address || *override.address == objection.address);
}

}  // namespace

std::vector<Objection> objectionsTo(const Situation& situation, const GuardSettings& settings,
                                    const std::vector<GuardOverride>& overrides) {
  std::vector<Objection> found;
  std::set<Bdf> judged = situation.changed;
  judged.insert(situation.named.begin(), situation.named.end());
  for (const Bdf& address : judged) {
    const auto device = situation.snapshot.devices.find(address);
    if (device == situation.snapshot.devices.end()) continue;
    Objections objections(address, found);
    judgeDevice(device->second, situation, settings, objections);
  }
  if (!situation.changed.empty()) {
    Objections objections(*situation.changed.begin(), found);
    judgeGroup(situation, objections);
  }
  judgeMembers(situation, found);
  for (Objection& objection : found) {
    const auto lifts = [&objection](const GuardOverride& one) { return covers(one, objection); };
    const bool mayBe = mayBeOverridden(objection.guard) && (objection.guard != Guard::kPlatform ||
                                                            situation.by != ChangeBy::kAllocation);
    objection.overridden = mayBe && (std::ranges::any_of(overrides, lifts) ||
                                     std::ranges::any_of(settings.overrides, lifts));
  }
  return found;
}

bool mayBeOverridden(Guard guard) {
  switch (guard) {
    case Guard::kBootVga:
    case Guard::kConsole:
    case Guard::kStorage:
    case Guard::kNetwork:
    case Guard::kUsers:
    case Guard::kNoIommu:
    case Guard::kHeld:
    case Guard::kUnguarded:
    case Guard::kPlatform:
      return true;
    case Guard::kBridge:
    case Guard::kRootDisk:
    case Guard::kBlock:
    case Guard::kSriov:
    case Guard::kMember:
    case Guard::kInUse:
    case Guard::kOperator:
    case Guard::kPolicy:
      return false;
  }
  return false;
}

bool anyStands(const std::vector<Objection>& objections) {
  return std::ranges::any_of(objections, [](const Objection& one) { return !one.overridden; });
}

bool standsAside(const PciDevice& device) {
  return !isEndpoint(device) || (isPlatform(device) && device.driver.empty());
}

bool permits(const GuardSettings& settings, const PciDevice& device) {
  return !anyMatches(settings.deny, device) && anyMatches(settings.allow, device);
}

}  // namespace vfiogate
