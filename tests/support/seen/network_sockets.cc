#include "tests/support/seen/network_sockets.h"

#include "sim/base/process_status.h"

#include <sys/stat.h>

#include <fstream>
#include <initializer_list>
#include <sstream>

namespace vfiogate::test {
namespace {

std::set<std::string> inodesOf(pid_t pid) {
  std::set<std::string> found;
  for (const OpenDescriptor& descriptor : openDescriptors(pid)) {
    if (descriptor.kind != S_IFSOCK) continue;
    const std::string& target = descriptor.target;  // "socket:[4711]"
    found.insert(target.substr(8, target.size() - 9));
  }
  return found;
}

/// One that is opened or closed between the two readings is in none.
std::set<std::string> listedIn(std::initializer_list<const char*> tables, pid_t pid) {
  const std::set<std::string> sockets = inodesOf(pid);
  std::set<std::string> found;
  for (const std::string table : tables) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/net/" + table);
    for (std::string word; file >> word;) {
      if (sockets.contains(word)) found.insert(std::string(table).append(" ").append(word));
    }
  }
  return found;
}

}  // namespace

std::set<std::string> networkSocketsOf(pid_t pid) {
  return listedIn(
      {"tcp", "tcp6", "udp", "udp6", "udplite", "raw", "raw6", "packet", "netlink", "icmp"}, pid);
}

std::set<std::string> localSocketsOf(pid_t pid) {
  return listedIn({"unix"}, pid);
}

std::multiset<std::string> listeningPathsOf(pid_t pid) {
  constexpr unsigned long kAccepts = 0x10000;  // the kernel's __SO_ACCEPTCON
  const std::set<std::string> sockets = inodesOf(pid);
  std::multiset<std::string> found;
  std::ifstream file("/proc/" + std::to_string(pid) + "/net/unix");
  for (std::string line; std::getline(file, line);) {
    std::istringstream columns(line);
    std::string number, references, protocol, flags, type, state, inode, path;
    columns >> number >> references >> protocol >> flags >> type >> state >> inode >> path;
    if (!sockets.contains(inode)) continue;
    if ((std::stoul(flags, nullptr, 16) & kAccepts) != 0) found.insert(path);
  }
  return found;
}

}  // namespace vfiogate::test
