#pragma once
// What the kernel says about a process from outside: /proc/<pid>, read as root.

#include <sys/types.h>

#include <initializer_list>
#include <map>
#include <string>
#include <vector>

namespace vfiogate::test {

/// One thread's /proc/<pid>/task/<tid>/status: "CapEff" to "0000000000000000", ...
using ThreadStatus = std::map<std::string, std::string>;

/// Every thread's status, by thread id. Empty if the process is gone.
std::map<pid_t, ThreadStatus> threadStatuses(pid_t pid);

/// The processes that this single-threaded one made, by age; empty if it is gone.
std::vector<pid_t> childrenOf(pid_t pid);

/// The one of them that has become this program, by its file's name. 0: none has.
pid_t childRunning(pid_t pid, const std::string& program);

/// One open descriptor of a process.
struct OpenDescriptor {
  int fd;
  mode_t kind;         ///< S_IFREG, S_IFSOCK, ...; 0 for anonymous ones such as epoll
  std::string target;  ///< as the link says: "socket:[4711]", "/dev/null"
};

/// All of a process's descriptors. Throws std::filesystem::filesystem_error if unreadable.
std::vector<OpenDescriptor> openDescriptors(pid_t pid);

/// What is wrong with the lock-down of `pid`, a line for each fault; empty if it is locked down:
/// for every thread no capability (in the bounding set neither), no_new_privs, a filter.
std::vector<std::string> lockdownFaults(pid_t pid);

/// What is wrong with the identity of `pid`: in every thread each of its four uids must be `uid`.
/// If that is not root, each gid too, without supplementary groups.
std::vector<std::string> identityFaults(pid_t pid, uid_t uid);

/// Descriptors of `pid` that are of one of `kinds` (S_IFREG, S_IFDIR, ...), a line for each.
std::vector<std::string> descriptorsOfKind(pid_t pid, std::initializer_list<mode_t> kinds);

}  // namespace vfiogate::test
