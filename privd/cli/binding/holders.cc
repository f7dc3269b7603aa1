#include "privd/cli/binding/holders.h"

#include "ipc/base/hex.h"
#include "privd/cli/base/device_json.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace vfiogate {
namespace {

using Json = nlohmann::ordered_json;

namespace fs = std::filesystem;

constexpr std::size_t kMostHolders = 64;
constexpr std::size_t kMostProcesses = 65'536;
constexpr std::size_t kMostFiles = 65'536;
constexpr std::size_t kPodUid = 36;

/// The children of these directories are nodes in that one of /dev.
constexpr std::pair<const char*, const char*> kClasses[] = {
    {"drm", "/dev/dri/"},
    {"accel", "/dev/accel/"},
    {"nvme", "/dev/"},
    {"infiniband_verbs", "/dev/infiniband/"}};

std::string firstLine(const fs::path& file) {
  std::string line;
  std::getline(std::ifstream(file), line);
  return line.substr(0, 4096);
}

/// The rest of the line of `file` that begins with `label`.
std::string lineAfter(const fs::path& file, std::string_view label) {
  std::ifstream text(file);
  std::string line;
  for (int i = 0; i < 256 && std::getline(text, line); ++i) {
    if (line.starts_with(label)) return line.substr(label.size());
  }
  return {};
}

/// Cards of the sound system, whose nodes are named after their number.
void addSound(const SysfsRoot& sysfs, const std::string& device, std::vector<std::string>& nodes) {
  const auto cards = sysfs.names(device + "/sound");
  if (!cards) return;
  for (const std::string& card : *cards) {
    const auto children = sysfs.names(device + "/sound/" + card);
    if (!children) continue;
    for (const std::string& child : *children) {
      if (child.starts_with("pcm") || child.starts_with("control") || child.starts_with("hw")) {
        nodes.push_back("/dev/snd/" + child);
      }
    }
  }
}

bool covers(const std::string& node, std::string_view path) {
  if (!node.ends_with('*')) return path == node;
  return path.starts_with(std::string_view(node).substr(0, node.size() - 1));
}

/// Numbers among the names of a directory, ascending. Null: it cannot be listed.
std::optional<std::set<std::int32_t>> numbersIn(const fs::path& directory, std::size_t most) {
  std::error_code error;
  std::set<std::int32_t> numbers;
  fs::directory_iterator entry(directory, error);
  if (error) return std::nullopt;
  for (; entry != fs::directory_iterator() && numbers.size() < most; entry.increment(error)) {
    const auto number = parseDecimal(entry->path().filename().string());
    if (number) numbers.insert(static_cast<std::int32_t>(*number));
    if (error) break;
  }
  return numbers;
}

/// The first of `nodes` that is among the open files; empty: none. Null: nobody lets us look.
std::optional<std::string> openNode(const fs::path& process,
                                    const std::vector<std::string>& nodes) {
  const auto files = numbersIn(process / "fd", kMostFiles);
  if (!files) return std::nullopt;
  for (const std::int32_t file : *files) {
    std::error_code error;
    const std::string path = fs::read_symlink(process / "fd" / std::to_string(file), error);
    if (error) continue;
    if (std::ranges::any_of(nodes, [&](const std::string& node) { return covers(node, path); })) {
      return path;
    }
  }
  return std::string();
}

/// "…/kubepods.slice/…-pod6f0c2d3e_….slice/…" and "/kubepods/…/pod6f0c2d3e-…/…".
std::string podUidIn(std::string_view cgroup) {
  for (std::size_t at = cgroup.find("pod"); at != std::string_view::npos;
       at = cgroup.find("pod", at + 1)) {
    std::string uid(cgroup.substr(at + 3, kPodUid));
    std::ranges::replace(uid, '_', '-');
    const std::string_view rest = cgroup.substr(std::min(at + 3 + kPodUid, cgroup.size()));
    const bool ends = rest.empty() || rest.front() == '/' || rest.front() == '.';
    const bool digits = std::ranges::all_of(
        uid, [](char c) { return c == '-' || parseHexDigits(std::string_view(&c, 1), 1); });
    if (uid.size() == kPodUid && digits && ends) return uid;
  }
  return {};
}

std::string podUidOf(const fs::path& process) {
  std::ifstream text(process / "cgroup");
  std::string line;
  for (int i = 0; i < 64 && std::getline(text, line); ++i) {
    const std::string uid = podUidIn(line);
    if (!uid.empty()) return uid;
  }
  return {};
}

std::optional<uid_t> uidOf(const fs::path& process) {
  const std::string uids = lineAfter(process / "status", "Uid:\t");
  const auto uid = parseDecimal(uids.substr(0, uids.find('\t')));
  return uid ? std::optional<uid_t>(*uid) : std::nullopt;
}

/// The processes that have a file of this inode locked.
std::set<std::int32_t> lockersOf(const fs::path& procRoot, ino_t inode) {
  const std::string place = ":" + std::to_string(inode);
  std::set<std::int32_t> pids;
  // "1: FLOCK  ADVISORY  WRITE 4711 08:01:1234 0 EOF"; who waits has "->" behind the number.
  std::ifstream locks(procRoot / "locks");
  for (std::string line; pids.size() < kMostHolders && std::getline(locks, line);) {
    std::istringstream text(line);
    std::vector<std::string> words(6);
    for (std::string& word : words) text >> word;
    const auto pid = parseDecimal(words[4]);
    if (words[1] != "FLOCK" || !words[5].ends_with(place) || !pid) continue;
    pids.insert(static_cast<std::int32_t>(*pid));
  }
  return pids;
}

std::vector<std::string> vfioNodes(std::optional<std::uint32_t> vfioDev,
                                   std::optional<IommuGroupId> group) {
  std::vector<std::string> nodes;
  if (vfioDev) nodes.push_back("/dev/vfio/devices/vfio" + std::to_string(*vfioDev));
  if (!group) return nodes;
  const std::string number = std::to_string(group->number());
  nodes.push_back("/dev/vfio/" + number);
  nodes.push_back("/dev/vfio/noiommu-" + number);
  return nodes;
}

}  // namespace

std::vector<std::string> nodesOf(const MediatedDevice& device) {
  return vfioNodes(device.vfioDev, device.group);
}

std::vector<std::string> nodesOf(const SysfsRoot& sysfs, const std::string& procRoot,
                                 const PciDevice& device) {
  std::vector<std::string> nodes = vfioNodes(device.vfioDev, device.group);
  const std::string directory = "bus/pci/devices/" + device.address.str();
  for (const auto& [kind, folder] : kClasses) {
    const auto children = sysfs.names(directory + "/" + kind);
    if (!children) continue;
    for (const std::string& child : *children) {
      nodes.push_back(folder + child);
      if (std::string_view(kind) == "nvme") nodes.push_back(folder + child + "n*");
    }
  }
  addSound(sysfs, directory, nodes);
  const auto minor =
      lineAfter(fs::path(procRoot) / "driver/nvidia/gpus" / device.address.str() / "information",
                "Device Minor:");
  const std::size_t digits = minor.find_first_of("0123456789");
  if (digits != std::string::npos) nodes.push_back("/dev/nvidia" + minor.substr(digits));
  return nodes;
}

Holders holdersOf(const std::string& procRoot, const std::vector<std::string>& nodes) {
  Holders holders;
  const auto processes = numbersIn(procRoot, kMostProcesses);
  if (!processes || nodes.empty()) return holders;
  for (const std::int32_t pid : *processes) {
    const fs::path process = fs::path(procRoot) / std::to_string(pid);
    const auto node = openNode(process, nodes);
    std::error_code gone;
    if (!node) holders.hidden += fs::exists(process, gone) ? 1 : 0;
    if (!node || node->empty()) continue;
    holders.found.push_back({.pid = pid,
                             .command = firstLine(process / "comm"),
                             .uid = uidOf(process),
                             .podUid = podUidOf(process),
                             .node = *node});
    if (holders.found.size() == kMostHolders) break;
  }
  return holders;
}

std::string wordsFor(const Holder& holder) {
  return "pid " + std::to_string(holder.pid) + " " + jsonText(holder.command) +
         (holder.uid ? ", uid " + std::to_string(*holder.uid) : std::string()) +
         (holder.podUid.empty() ? std::string() : ", pod " + holder.podUid) + ", has " +
         jsonText(holder.node) + " open";
}

std::string lockersText(const std::string& procRoot, const std::string& file) {
  std::error_code error;
  const fs::path path = fs::canonical(file, error);
  struct stat status = {};
  if (error || stat(path.c_str(), &status) != 0) return {};
  const auto lockers = lockersOf(procRoot, status.st_ino);
  std::string text;
  // An inode of another file system may have its number: that process has not this file open.
  for (const Holder& one : holdersOf(procRoot, {path}).found) {
    if (lockers.contains(one.pid)) text += "; " + wordsFor(one);
  }
  return text;
}

nlohmann::ordered_json holdersJson(const Holders& holders) {
  Json list = Json::array();
  for (const Holder& holder : holders.found) {
    list.push_back({{"pid", holder.pid},
                    {"command", jsonText(holder.command)},
                    {"uid", holder.uid ? Json(*holder.uid) : Json(nullptr)},
                    {"podUid", holder.podUid.empty() ? Json(nullptr) : Json(holder.podUid)},
                    {"node", jsonText(holder.node)}});
  }
  return list;
}

}  // namespace vfiogate
