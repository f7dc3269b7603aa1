#include "tests/support/taken_over/attacks.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <array>
#include <cerrno>
#include <csignal>
#include <string>

namespace vfiogate::test {
namespace {

template <typename... Arguments>
int done(long number, Arguments... arguments) {
  return syscall(number, arguments...) < 0 ? errno : 0;
}

int readsPrivdsMemory(pid_t privd) {
  const std::string path = "/proc/" + std::to_string(privd) + "/mem";
  return done(SYS_openat, AT_FDCWD, path.c_str(), O_RDWR | O_CLOEXEC, 0);
}

int reachesIntoPrivd(pid_t privd) {
  iovec nothing = {};
  return done(SYS_process_vm_writev, privd, &nothing, 1, &nothing, 1, 0);
}

constexpr std::array kActs{
    DirectAct{"OpensAFile",
              [](pid_t) { return done(SYS_openat, AT_FDCWD, "/etc/passwd", O_RDONLY, 0); }},
    DirectAct{"OpensPrivdsMemory", readsPrivdsMemory},
    DirectAct{"WritesPrivdsMemory", reachesIntoPrivd},
    DirectAct{"TracesPrivd",
              [](pid_t privd) { return done(SYS_ptrace, PTRACE_SEIZE, privd, nullptr, nullptr); }},
    DirectAct{"KillsPrivd", [](pid_t privd) { return done(SYS_kill, privd, SIGKILL); }},
    DirectAct{"KillsPrivdByThread",
              [](pid_t privd) { return done(SYS_tgkill, privd, privd, SIGABRT); }},
    DirectAct{"TakesPrivdsDescriptor", [](pid_t privd) { return done(SYS_pidfd_open, privd, 0); }},
    DirectAct{"MakesALocalSocket", [](pid_t) { return done(SYS_socket, AF_UNIX, SOCK_STREAM, 0); }},
    DirectAct{"MakesANetworkSocket",
              [](pid_t) { return done(SYS_socket, AF_INET, SOCK_STREAM, 0); }},
    DirectAct{"MakesANetlinkSocket",
              [](pid_t) { return done(SYS_socket, AF_NETLINK, SOCK_RAW, 15); }},
    DirectAct{"Connects", [](pid_t) { return done(SYS_connect, 1, nullptr, 0); }},
    DirectAct{"Binds", [](pid_t) { return done(SYS_bind, 1, nullptr, 0); }},
    DirectAct{"StartsAProgram",
              [](pid_t) { return done(SYS_execve, "/bin/sh", nullptr, nullptr); }},
    DirectAct{"StartsAProcess", [](pid_t) { return done(SYS_fork); }},
    DirectAct{"BecomesRoot", [](pid_t) { return done(SYS_setuid, 0); }},
    DirectAct{"UnlinksASocket",
              [](pid_t) { return done(SYS_unlinkat, AT_FDCWD, "plugind.sock", 0); }},
    DirectAct{"LinksElsewhere",
              [](pid_t) { return done(SYS_symlinkat, "/etc", AT_FDCWD, "plugind.sock"); }},
    DirectAct{"RunsItsOwnCode",
              [](pid_t) {
                return done(SYS_mmap, nullptr, 4096, PROT_READ | PROT_EXEC,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
              }},
    DirectAct{"LoadsAFilter", [](pid_t) { return done(SYS_seccomp, 0, 0, nullptr); }},
    DirectAct{"LeavesItsNamespace", [](pid_t) { return done(SYS_unshare, 0x10000000); }},
};

}  // namespace

std::span<const DirectAct> directActs() {
  return kActs;
}

}  // namespace vfiogate::test
