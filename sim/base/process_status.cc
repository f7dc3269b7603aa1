#include "sim/base/process_status.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace vfiogate::test {
namespace {

namespace fs = std::filesystem;

fs::path processDirectory(pid_t pid) {
  return fs::path("/proc") / std::to_string(pid);
}

ThreadStatus readStatus(const fs::path& file) {
  ThreadStatus status;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const auto colon = line.find(':');
    if (colon == std::string::npos) continue;
    const auto value = line.find_first_not_of(" \t", colon + 1);
    const auto end = line.find_last_not_of(" \t");
    status[line.substr(0, colon)] =
        value == std::string::npos ? "" : line.substr(value, end + 1 - value);
  }
  return status;
}

std::vector<std::string> faultsAgainst(pid_t pid, const ThreadStatus& want) {
  std::vector<std::string> faults;
  const auto threads = threadStatuses(pid);
  if (threads.empty()) faults.push_back("process " + std::to_string(pid) + " is gone");
  for (const auto& [tid, status] : threads) {
    for (const auto& [key, value] : want) {
      const auto found = status.find(key);
      const std::string is = found == status.end() ? "(absent)" : found->second;
      if (is != value) {
        faults.push_back("thread " + std::to_string(tid) + ": " + key + " is " + is + ", not " +
                         value);
      }
    }
  }
  return faults;
}

}  // namespace

std::vector<pid_t> childrenOf(pid_t pid) {
  std::ifstream in(processDirectory(pid) / "task" / std::to_string(pid) / "children");
  std::vector<pid_t> children;
  for (pid_t child = 0; in >> child;) children.push_back(child);
  return children;
}

pid_t childRunning(pid_t pid, const std::string& program) {
  const auto children = childrenOf(pid);
  const auto found = std::ranges::find_if(children, [&program](pid_t child) {
    std::error_code gone;
    return fs::read_symlink(processDirectory(child) / "exe", gone).filename() == program;
  });
  return found == children.end() ? 0 : *found;
}

std::map<pid_t, ThreadStatus> threadStatuses(pid_t pid) {
  std::map<pid_t, ThreadStatus> threads;
  std::error_code gone;
  for (const auto& task : fs::directory_iterator(processDirectory(pid) / "task", gone)) {
    auto status = readStatus(task.path() / "status");
    if (!status.empty()) threads[std::stoi(task.path().filename())] = std::move(status);
  }
  return threads;
}

std::vector<OpenDescriptor> openDescriptors(pid_t pid) {
  std::vector<OpenDescriptor> descriptors;
  for (const auto& entry : fs::directory_iterator(processDirectory(pid) / "fd")) {
    struct stat status {};
    std::error_code gone;
    const auto target = fs::read_symlink(entry.path(), gone);
    if (gone || stat(entry.path().c_str(), &status) != 0) continue;
    descriptors.push_back(
        {std::stoi(entry.path().filename()), status.st_mode & S_IFMT, target.string()});
  }
  std::ranges::sort(descriptors, {}, &OpenDescriptor::fd);
  return descriptors;
}

std::vector<std::string> lockdownFaults(pid_t pid) {
  const std::string none(16, '0');
  return faultsAgainst(pid, {{"CapInh", none},
                             {"CapPrm", none},
                             {"CapEff", none},
                             {"CapBnd", none},
                             {"CapAmb", none},
                             {"NoNewPrivs", "1"},
                             {"Seccomp", "2"}});
}

std::vector<std::string> identityFaults(pid_t pid, uid_t uid) {
  const std::string one = std::to_string(uid);
  const std::string four = one + "\t" + one + "\t" + one + "\t" + one;
  if (uid == 0) return faultsAgainst(pid, {{"Uid", four}});
  return faultsAgainst(pid, {{"Uid", four}, {"Gid", four}, {"Groups", ""}});
}

std::vector<std::string> descriptorsOfKind(pid_t pid, std::initializer_list<mode_t> kinds) {
  std::vector<std::string> found;
  for (const OpenDescriptor& open : openDescriptors(pid)) {
    if (std::ranges::find(kinds, open.kind) == kinds.end()) continue;
    found.push_back("descriptor " + std::to_string(open.fd) + " is " + open.target);
  }
  return found;
}

}  // namespace vfiogate::test
