#include "privd/cli/base/running_changes.h"

#include "ipc/base/hex.h"
#include "privd/base/open_file.h"
#include "privd/writer/writer.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <sstream>
#include <thread>
#include <vector>

namespace vfiogate {
namespace {

namespace fs = std::filesystem;

constexpr auto kAMoment = std::chrono::milliseconds(50);
constexpr std::size_t kMostEntries = 65'536;
/// What a change writes to. Whoever asked for the write has closed it again.
constexpr std::array<std::string_view, 4> kAttributes{"bind", "unbind", "driver_override",
                                                      "drivers_probe"};
/// By this one virtual functions are made.
constexpr std::string_view kMakesVfs = "sriov_numvfs";

/// A number of a file is one of its filesystem's: a simulated node beside has files of the same.
struct FileId {
  dev_t device = 0;
  ino_t inode = 0;

  friend bool operator==(const FileId&, const FileId&) = default;
};
using RecordFiles = std::map<Bdf, FileId>;

Result<RecordFiles, int> filesIn(const std::string& directory) {
  auto opened = openAt(AT_FDCWD, directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
  if (!opened) return Failure{opened.error().error};
  const kj::AutoCloseFd root = kj::mv(opened).value();
  auto again = openAt(root, ".", O_RDONLY | O_DIRECTORY, RESOLVE_BENEATH);
  if (!again) return Failure{again.error().error};
  const auto names = directoryNames(kj::mv(again).value());
  if (!names) return Failure{names.error().error};
  RecordFiles files;
  for (const std::string& name : *names) {
    const auto address = Bdf::parse(name);
    struct stat status = {};
    if (!address || address->str() != name) continue;
    if (fstatat(root, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    files.emplace(*address, FileId{status.st_dev, status.st_ino});
  }
  return files;
}

std::vector<std::string> numbersIn(const fs::path& directory) {
  std::vector<std::string> numbers;
  std::error_code error;
  fs::directory_iterator entry(directory, error);
  for (; !error && entry != fs::directory_iterator() && numbers.size() < kMostEntries;
       entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if (parseDecimal(name)) numbers.push_back(std::move(name));
  }
  return numbers;
}

/// True if a process has that file open as `link`, in whatever namespace of mounts.
bool isOpenAs(const fs::path& link, const FileId& file) {
  struct stat status = {};
  return stat(link.c_str(), &status) == 0 && FileId{status.st_dev, status.st_ino} == file;
}

/// True if this open file has its file locked. The kernel's line, which it prints for the one that
/// has the lock alone: "lock:	1: FLOCK  ADVISORY  WRITE 4711 00:19:1234 0 EOF".
bool hasLocked(const fs::path& fdinfo) {
  std::ifstream text(fdinfo);
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("lock:") && line.find(" FLOCK ") != std::string::npos) return true;
  }
  return false;
}

double secondsOf(kj::Duration duration) {
  return static_cast<double>(duration / kj::MILLISECONDS) / 1000;
}

/// After how many seconds a write to the file is stuck; null: no change writes to it. `root` is the
/// writer's. How many virtual functions are wanted is not to be seen: it may be as many as there
/// can be.
std::optional<double> patienceFor(const fs::path& attribute, const fs::path& root) {
  const std::string name = attribute.filename().string();
  if (std::ranges::find(kAttributes, name) != kAttributes.end()) {
    return secondsOf(Writer::kPatience);
  }
  if (name != kMakesVfs) return std::nullopt;
  std::uint32_t most = 0;
  std::ifstream(root / attribute.parent_path().relative_path() / "sriov_totalvfs") >> most;
  return most == 0 ? std::numeric_limits<double>::infinity()
                   : secondsOf(Writer::kPatience + most * kPatiencePerVf);
}

/// Whether it began at least so many seconds ago.
bool isOld(const fs::path& procRoot, const std::string& process, double seconds) {
  double up = 0;
  std::ifstream(procRoot / "uptime") >> up;
  std::ifstream file(procRoot / process / "stat");
  std::string text;
  std::getline(file, text);
  // Behind the name, which may have blanks and brackets, comes the third of the fields.
  std::istringstream rest(text.substr(std::min(text.rfind(')') + 1, text.size())));
  const std::vector<std::string> fields{std::istream_iterator<std::string>(rest), {}};
  constexpr std::size_t kStartTime = 22 - 3;
  const auto start = fields.size() > kStartTime ? parseDecimal(fields[kStartTime]) : std::nullopt;
  if (!start) return false;
  const double age = up - static_cast<double>(*start) / static_cast<double>(sysconf(_SC_CLK_TCK));
  return age >= seconds;
}

/// Adds what one process has locked.
void addProcess(const fs::path& procRoot, const std::string& process, const RecordFiles& files,
                RunningChanges& changes) {
  std::set<Bdf> locked;
  std::optional<double> patience;
  for (const std::string& fd : numbersIn(procRoot / process / "fd")) {
    std::error_code error;
    const fs::path target = fs::read_symlink(procRoot / process / "fd" / fd, error);
    if (error) continue;
    const std::string name = target.filename().string();
    patience = std::max(patience, patienceFor(target, procRoot / process / "root"));
    const auto address = Bdf::parse(name);
    const auto file = address ? files.find(*address) : files.end();
    if (file == files.end() || address->str() != name) continue;
    if (!isOpenAs(procRoot / process / "fd" / fd, file->second)) continue;
    if (hasLocked(procRoot / process / "fdinfo" / fd)) locked.insert(*address);
  }
  if (locked.empty()) return;
  if (patience && isOld(procRoot, process, *patience))
    changes.stuck.insert(locked.begin(), locked.end());
  changes.devices.merge(locked);
}

RunningChanges findChanges(const fs::path& procRoot, const RecordFiles& files) {
  RunningChanges changes;
  if (files.empty()) return changes;
  for (const std::string& process : numbersIn(procRoot)) {
    addProcess(procRoot, process, files, changes);
  }
  return changes;
}

std::set<Bdf> inBoth(const std::set<Bdf>& one, const std::set<Bdf>& other) {
  std::set<Bdf> both;
  std::ranges::set_intersection(one, other, std::inserter(both, both.end()));
  return both;
}

}  // namespace

RunningChanges readRunningChanges(const std::string& recordDir, const std::string& procRoot) {
  RunningChanges changes;
  if (recordDir.empty()) return changes;
  const auto files = filesIn(recordDir);
  if (!files) {
    if (files.error() != ENOENT) changes.problem = recordDir + ": " + strerror(files.error());
    return changes;
  }
  const RunningChanges first = findChanges(procRoot, *files);
  if (first.devices.empty()) return changes;
  std::this_thread::sleep_for(kAMoment);
  const RunningChanges second = findChanges(procRoot, *files);
  changes.devices = inBoth(first.devices, second.devices);
  changes.stuck = inBoth(first.stuck, second.stuck);
  return changes;
}

void markChanges(Snapshot& snapshot, const RunningChanges& changes) {
  for (auto& [id, group] : snapshot.groups) {
    const auto anyIn = [&members = group.members](const std::set<Bdf>& devices) {
      return std::ranges::any_of(members,
                                 [&](const Bdf& member) { return devices.contains(member); });
    };
    group.binding.busy = anyIn(changes.devices);
    group.binding.stuck = anyIn(changes.stuck);
  }
}

}  // namespace vfiogate
