#include "tests/support/taken_over_hardware/attacks.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>

namespace vfiogate::test {
namespace {

template <typename... Arguments>
int done(long number, Arguments... arguments) {
  return syscall(number, arguments...) < 0 ? errno : 0;
}

int opens(const std::string& path, std::uint64_t flags) {
  open_how how = {};
  how.flags = flags | O_CLOEXEC;
  if ((flags & O_CREAT) != 0) how.mode = 0600;
  return done(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof(how));
}

int connectsTo(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  const long fd = syscall(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  return fd < 0 ? errno : done(SYS_connect, fd, &address, sizeof(address));
}

std::string attributeOf(const InnerPlaces& at, const char* name) {
  return at.sysfs + "/bus/pci/devices/0000:03:00.0/" + name;
}

constexpr std::array kActs{
    InnerAct{"ReadsSysfs",
             [](const InnerPlaces& at) { return opens(attributeOf(at, "vendor"), O_RDONLY); }},
    // Files
    InnerAct{"WritesAnAttribute",
             [](const InnerPlaces& at) { return opens(attributeOf(at, "vendor"), O_WRONLY); }},
    InnerAct{"MakesAFileInSysfs",
             [](const InnerPlaces& at) { return opens(at.sysfs + "/new", O_WRONLY | O_CREAT); }},
    InnerAct{"ExcludesADevice",
             [](const InnerPlaces& at) {
               return opens(at.state + "/holds/0000:03:00.0", O_WRONLY | O_CREAT);
             }},
    InnerAct{"AllocatesADevice",
             [](const InnerPlaces& at) {
               return opens(at.state + "/devices/0000:03:00.0", O_RDWR | O_CREAT);
             }},
    InnerAct{"ReadsTheStateDirectory",
             [](const InnerPlaces& at) { return opens(at.state, O_RDONLY | O_DIRECTORY); }},
    InnerAct{"ReadsTheKubeletsDirectory",
             [](const InnerPlaces& at) {
               return opens(at.kubelet + "/device-plugins", O_RDONLY | O_DIRECTORY);
             }},
    InnerAct{"MakesAFileBesideTheKubelet",
             [](const InnerPlaces& at) {
               return opens(at.kubelet + "/device-plugins/x", O_WRONLY | O_CREAT);
             }},
    InnerAct{"ReadsAHostsFile", [](const InnerPlaces&) { return opens("/etc/passwd", O_RDONLY); }},
    InnerAct{"MakesATemporaryFile",
             [](const InnerPlaces&) { return opens("/tmp/taken-over", O_WRONLY | O_CREAT); }},
    InnerAct{"OpensARootsMemory",
             [](const InnerPlaces& at) {
               return opens("/proc/" + std::to_string(at.root) + "/mem", O_RDWR);
             }},
    InnerAct{
        "OpensTheOldWay",
        [](const InnerPlaces&) { return done(SYS_openat, AT_FDCWD, "/etc/passwd", O_RDONLY, 0); }},
    InnerAct{
        "UnlinksPlugindsSocket",
        [](const InnerPlaces& at) { return done(SYS_unlinkat, AT_FDCWD, at.plugind.c_str(), 0); }},
    InnerAct{"RenamesPlugindsSocket",
             [](const InnerPlaces& at) {
               return done(SYS_renameat2, AT_FDCWD, at.plugind.c_str(), AT_FDCWD, "/tmp/x", 0);
             }},
    InnerAct{"MakesADirectory",
             [](const InnerPlaces&) { return done(SYS_mkdirat, AT_FDCWD, "/tmp/x", 0700); }},
    InnerAct{"MakesALink",
             [](const InnerPlaces&) { return done(SYS_symlinkat, "/etc", AT_FDCWD, "/tmp/x"); }},
    InnerAct{"TruncatesAFile",
             [](const InnerPlaces&) { return done(SYS_truncate, "/etc/passwd", 0L); }},
    InnerAct{
        "Mounts",
        [](const InnerPlaces&) { return done(SYS_mount, "x", "/tmp", "tmpfs", 0UL, nullptr); }},
    // Sockets
    InnerAct{"DialsTheKubelet",
             [](const InnerPlaces& at) {
               return connectsTo(at.kubelet + "/device-plugins/kubelet.sock");
             }},
    InnerAct{"DialsADevicePlugin",
             [](const InnerPlaces& at) { return connectsTo(at.state + "/plugin.sock"); }},
    InnerAct{"ListensInPlugindsPlace",
             [](const InnerPlaces&) { return done(SYS_bind, 1, nullptr, 0); }},
    InnerAct{"Listens", [](const InnerPlaces&) { return done(SYS_listen, 1, 1); }},
    InnerAct{"MakesANetworkSocket",
             [](const InnerPlaces&) { return done(SYS_socket, AF_INET, SOCK_STREAM, 0); }},
    InnerAct{"MakesANetlinkSocket",
             [](const InnerPlaces&) { return done(SYS_socket, AF_NETLINK, SOCK_RAW, 15); }},
    InnerAct{"MakesAVsock",
             [](const InnerPlaces&) { return done(SYS_socket, AF_VSOCK, SOCK_STREAM, 0); }},
    // Processes
    InnerAct{"KillsARoots", [](const InnerPlaces& at) { return done(SYS_kill, at.root, SIGKILL); }},
    InnerAct{"KillsARootsThread",
             [](const InnerPlaces& at) { return done(SYS_tgkill, at.root, at.root, SIGABRT); }},
    InnerAct{"TracesARoots",
             [](const InnerPlaces& at) {
               return done(SYS_ptrace, PTRACE_SEIZE, at.root, nullptr, nullptr);
             }},
    InnerAct{"TakesADescriptor",
             [](const InnerPlaces& at) { return done(SYS_pidfd_open, at.root, 0); }},
    InnerAct{"StartsAProgram",
             [](const InnerPlaces&) { return done(SYS_execve, "/bin/sh", nullptr, nullptr); }},
    InnerAct{"StartsAProcess", [](const InnerPlaces&) { return done(SYS_fork); }},
    InnerAct{"BecomesRoot", [](const InnerPlaces&) { return done(SYS_setuid, 0); }},
    InnerAct{"RunsItsOwnCode",
             [](const InnerPlaces&) {
               return done(SYS_mmap, nullptr, 4096, PROT_READ | PROT_EXEC,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
             }},
    InnerAct{"LeavesItsNamespace",
             [](const InnerPlaces&) { return done(SYS_unshare, 0x10000000); }},
};

}  // namespace

std::span<const InnerAct> innerActs() {
  return kActs;
}

}  // namespace vfiogate::test
