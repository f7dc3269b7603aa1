#include "sim/sysfs/fuse/fuse_server.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "ipc/base/hex.h"

namespace vfiogate::sim {
namespace {

constexpr std::chrono::seconds kPatience{2};

/// Number and arguments of the system call that the thread waits in; empty if it cannot be told.
std::string callOf(pid_t thread) {
  // Its request may be here before it has gone to sleep: until then it counts as running.
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < end) {
    std::ifstream file("/proc/" + std::to_string(thread) + "/syscall");
    std::string line;
    if (!std::getline(file, line)) return "";
    if (line != "running") return line;
    std::this_thread::yield();
  }
  return "";
}

std::optional<std::uint64_t> flagsAt(pid_t thread, std::uint64_t place) {
  std::ifstream memory("/proc/" + std::to_string(thread) + "/mem", std::ios::binary);
  open_how how{};
  memory.seekg(static_cast<std::streamoff>(place));
  if (!memory.read(reinterpret_cast<char*>(&how), sizeof how)) return std::nullopt;
  return how.flags;
}

/// Whether the descriptor is open for more than its name; `info` is its file below fdinfo.
bool isOpenForUse(const std::filesystem::path& info) {
  std::ifstream file(info);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("flags:")) continue;
    const auto flags = std::stoull(line.substr(line.find_last_of(" \t") + 1), nullptr, 8);
    return (flags & O_PATH) == 0;
  }
  return false;
}

bool hasOpen(const std::filesystem::path& process, const std::string& path) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(process / "fd", error), end; entry != end;
       entry.increment(error)) {
    const auto target = std::filesystem::read_symlink(entry->path(), error);
    // An opener whose name the kernel has looked up anew since has it "deleted".
    if (error || (target != path && target != path + " (deleted)")) continue;
    if (isOpenForUse(process / "fdinfo" / entry->path().filename())) return true;
  }
  return false;
}

}  // namespace

std::optional<std::uint64_t> openFlags(pid_t thread) {
  std::istringstream words(callOf(thread));
  long number = -1;
  std::array<std::uint64_t, 3> arguments{};
  words >> number >> std::hex >> arguments[0] >> arguments[1] >> arguments[2];
  if (!words) return std::nullopt;
  std::optional<std::uint64_t> flags;
  if (number == SYS_openat) flags = arguments[2];
  if (number == SYS_openat2) flags = flagsAt(thread, arguments[2]);
#ifdef SYS_open
  if (number == SYS_open) flags = arguments[1];
#endif
  if (flags && (*flags & O_PATH) != 0) return std::nullopt;
  return flags;
}

bool isOpenAnywhere(const std::string& path) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), end; entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (parseDecimal(name) && hasOpen(entry->path(), path)) return true;
  }
  return false;
}

}  // namespace vfiogate::sim
