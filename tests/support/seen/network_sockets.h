#pragma once
// Through which sockets a packet of a network interface, or of netlink, could reach a process.

#include <sys/types.h>

#include <set>
#include <string>

namespace vfiogate::test {

/// Open sockets of `pid` that one of the kernel's tables of networks lists, "tcp 4711"; a few more
/// than there are where other numbers of a table are the same as an inode's. Read as root.
std::set<std::string> networkSocketsOf(pid_t pid);

/// Open sockets of `pid` that the kernel lists as local ones, "unix 4711".
std::set<std::string> localSocketsOf(pid_t pid);

/// At which paths `pid` listens, as they were bound; "" for a socket that has none.
std::multiset<std::string> listeningPathsOf(pid_t pid);

}  // namespace vfiogate::test
