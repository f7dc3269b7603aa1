#include "privd/bind/read_facts.h"

#include "ipc/base/hex.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace vfiogate {
namespace {

constexpr std::size_t kLargestTable = 4 << 20;

/// Null: not there, or more than a table has.
std::optional<std::string> readTable(const std::string& path) {
  if (path.empty()) return std::nullopt;
  const auto file = openRegular(AT_FDCWD, path.c_str(), 0, 0);
  if (!file) return std::nullopt;
  std::string text;
  char part[4096];
  ssize_t got = 0;
  while ((got = ::read(file->fd.get(), part, sizeof(part))) > 0 && text.size() < kLargestTable) {
    text.append(part, static_cast<std::size_t>(got));
  }
  if (got != 0) return std::nullopt;
  return text;
}

HostTables readTables(const HostFiles& host) {
  HostTables tables;
  if (const auto text = readTable(host.mountinfo)) tables.mounts = parseMountinfo(*text);
  if (const auto text = readTable(host.swaps)) tables.swaps = parseSwaps(*text);
  if (const auto text = readTable(host.route)) tables.routedVia = parseRoutes(*text);
  return tables;
}

std::vector<std::string> namesIn(const SysfsRoot& sysfs, const std::string& path) {
  auto names = sysfs.names(path);
  return names ? std::move(names).value() : std::vector<std::string>();
}

/// The name of a mounted file system by block device, as each type lists them.
std::map<std::string, std::string> mountedFileSystems(const SysfsRoot& sysfs) {
  std::map<std::string, std::string> types;
  for (const char* type : {"ext4", "xfs", "f2fs"}) {
    for (const std::string& name : namesIn(sysfs, std::string("fs/") + type)) types[name] = type;
  }
  for (const std::string& id : namesIn(sysfs, "fs/btrfs")) {
    for (const std::string& name : namesIn(sysfs, "fs/btrfs/" + id + "/devices")) {
      types[name] = "btrfs";
    }
  }
  return types;
}

std::vector<BlockDevice> readBlockDevices(const SysfsRoot& sysfs) {
  std::vector<BlockDevice> all;
  const auto mounted = mountedFileSystems(sysfs);
  for (const std::string& name : namesIn(sysfs, "class/block")) {
    const std::string at = "class/block/" + name;
    const auto link = sysfs.link(at);
    const auto fileSystem = mounted.find(name);
    const auto text = [&](const char* attribute) {
      auto read = sysfs.read(at + attribute);
      return read ? std::move(read).value() : std::string();
    };
    all.push_back({.name = name,
                   .path = link ? *link : std::string(),
                   .number = text("/dev"),
                   .slaves = namesIn(sysfs, at + "/slaves"),
                   .backing = text("/loop/backing_file"),
                   .fileSystem = fileSystem == mounted.end() ? "" : fileSystem->second});
  }
  return all;
}

/// What a list of links has below the function: its own, and of whatever is plugged in there.
std::vector<std::string> linksBelow(const SysfsRoot& sysfs, const std::string& list,
                                    const Bdf& function) {
  std::vector<std::string> found = namesIn(sysfs, list);
  const std::string step = "/" + function.str() + "/";
  std::erase_if(found, [&](const std::string& name) {
    const auto link = sysfs.link(list + "/" + name);
    return !link || link->find(step) == std::string::npos;
  });
  return found;
}

/// Those below the function; of the firmware's display without a driver those that the firmware
/// left, which before Linux 6.9 are a platform device's.
std::vector<std::string> framebuffers(const SysfsRoot& sysfs, const PciDevice& device) {
  constexpr const char* kList = "class/graphics";
  if (!device.bootVga || !device.driver.empty()) return linksBelow(sysfs, kList, device.address);
  std::vector<std::string> found = namesIn(sysfs, kList);
  std::erase_if(found, [&](const std::string& name) {
    const auto link = sysfs.link(std::string(kList) + "/" + name);
    return !link || link->find("-framebuffer.") == std::string::npos;
  });
  return found;
}

/// Keys to type with, or what moves a pointer. What cannot be read counts as one.
bool isForHands(const SysfsRoot& sysfs, const std::string& input) {
  constexpr std::uint32_t kTyping = 0xfffffffe;  // the keys from Escape to D
  const auto keys = sysfs.read("class/input/" + input + "/capabilities/key");
  const auto moves = sysfs.read("class/input/" + input + "/capabilities/rel");
  if (!keys || !moves) return true;
  const std::string lowest = keys->substr(keys->rfind(' ') + 1);
  const auto bits =
      parseHex(lowest.substr(lowest.size() - std::min<std::size_t>(lowest.size(), 8)));
  return *moves != "0" || !bits || (*bits & kTyping) != 0;
}

void readPeople(const SysfsRoot& sysfs, const Bdf& function, DeviceFacts& facts) {
  for (const std::string& name : linksBelow(sysfs, "class/input", function)) {
    if (name.starts_with("input") && isForHands(sysfs, name)) facts.inputs.push_back(name);
  }
  const auto active = sysfs.read("class/tty/console/active");
  const std::string consoles = " " + (active ? *active : std::string()) + " ";
  for (const std::string& name : linksBelow(sysfs, "class/tty", function)) {
    const bool console = consoles.find(" " + name + " ") != std::string::npos;
    (console ? facts.consoles : facts.terminals).push_back(name);
  }
}

InterfaceFacts readInterface(const SysfsRoot& sysfs, const std::string& name,
                             const HostTables& tables) {
  const std::string at = "class/net/" + name;
  InterfaceFacts facts{.name = name};
  if (const auto text = sysfs.read(at + "/flags"); text && text->starts_with("0x")) {
    facts.flags = parseHex(*text);
  }
  facts.master = sysfs.linkName(at + "/master");
  for (const std::string& entry : namesIn(sysfs, at)) {
    if (entry.starts_with("upper_")) facts.uppers.push_back(entry.substr(6));
  }
  const auto& routed = tables.routedVia;
  facts.routed = routed && std::ranges::find(*routed, name) != routed->end();
  return facts;
}

void readInterfaces(const SysfsRoot& sysfs, const Bdf& function, const HostTables& tables,
                    DeviceFacts& facts) {
  for (const std::string& name : linksBelow(sysfs, "class/net", function)) {
    facts.interfaces.push_back(readInterface(sysfs, name, tables));
  }
  for (const std::string& name : linksBelow(sysfs, "bus/usb/devices", function)) {
    const std::string at = "bus/usb/devices/" + name + "/net";
    if (sysfs.exists(at) && namesIn(sysfs, at).empty()) facts.unseenInterfaces.push_back(name);
  }
}

std::optional<ModuleUse> readModule(const SysfsRoot& sysfs, const std::string& driver) {
  const std::string at = "bus/pci/drivers/" + driver + "/module";
  const std::string name = sysfs.linkName(at);
  const auto count = sysfs.read(at + "/refcnt");
  const auto references = count ? parseDecimal(*count) : std::nullopt;
  if (name.empty() || !references) return std::nullopt;
  return ModuleUse{name, *references, namesIn(sysfs, at + "/holders")};
}

/// Once, however many functions have a path to it: the kernel refuses our own second open, too.
DiskFacts openExclusively(const DevRoot& dev, DiskUse use, OpenDisks& kept) {
  DiskFacts disk{.use = std::move(use), .exclusive = Exclusive::kGot};
  const std::string& name = disk.use.disk;
  if (kept.contains(name)) return disk;
  auto opened = dev.openNode(name, O_RDONLY | O_EXCL | O_NONBLOCK);
  if (opened) {
    kept.emplace(name, kj::mv(opened).value());
  } else {
    disk.exclusive = opened.error().error == EBUSY ? Exclusive::kBusy : Exclusive::kImpossible;
  }
  return disk;
}

}  // namespace

GuardFacts gatherEvidence(const SysfsRoot& sysfs, const DevRoot& dev, const HostFiles& host,
                          const Snapshot& snapshot, const std::set<Bdf>& changed,
                          OpenDisks& opened) {
  GuardFacts evidence;
  const auto isOnHost = [&snapshot](const Bdf& address) {
    const auto device = snapshot.devices.find(address);
    return device != snapshot.devices.end() && !device->second.driver.empty() &&
           !offersVfio(device->second);
  };
  for (const Bdf& address : changed) {
    const auto device = snapshot.devices.find(address);
    if (device == snapshot.devices.end() || offersVfio(device->second)) continue;
    evidence.devices[address].consoles = framebuffers(sysfs, device->second);
  }
  // The tables are the host's whole: not read where nobody asks.
  if (std::ranges::none_of(changed, isOnHost)) return evidence;
  const HostTables tables = readTables(host);
  evidence.tablesComplete = tables.mounts && tables.swaps;
  const std::vector<BlockDevice> blocks = readBlockDevices(sysfs);
  for (const Bdf& address : changed) {
    if (!isOnHost(address)) continue;
    DeviceFacts& facts = evidence.devices[address];
    for (DiskUse& use : disksBelow(address, blocks, tables)) {
      facts.disks.push_back(openExclusively(dev, std::move(use), opened));
    }
    readInterfaces(sysfs, address, tables, facts);
    readPeople(sysfs, address, facts);
    facts.module = readModule(sysfs, snapshot.devices.at(address).driver);
  }
  return evidence;
}

}  // namespace vfiogate
