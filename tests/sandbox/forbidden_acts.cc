#include "tests/sandbox/forbidden_acts.h"

#include "seccomp/sanitizer_rules.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cerrno>
#include <csignal>
#include <ostream>
#include <vector>

namespace vfiogate::test {
namespace {

constexpr std::uint64_t kX32Bit = 0x40000000;
constexpr std::uint64_t kHere = static_cast<std::uint64_t>(AT_FDCWD);
constexpr std::uint64_t kNobody = ~0ULL;  // a descriptor, id or address that is none

const CallOutcome kDies = Killed{SIGSYS};
const std::optional<CallOutcome> kMay;

CallOutcome gets(int error) {
  return Returned{-error};
}

// Under a sanitizer's report privd's late open is answered too (seccomp/sanitizer_rules.h).
const CallOutcome kPrivdsOpen = kSanitizerRules.empty() ? kDies : gets(EACCES);

ForbiddenAct both(std::string_view name, std::uint64_t number,
                  std::array<std::uint64_t, 6> args = {}) {
  return {name, {number, args}, kDies, kDies};
}
ForbiddenAct plugindOnly(std::string_view name, std::uint64_t number,
                         std::array<std::uint64_t, 6> args = {}) {
  return {name, {number, args}, kMay, kDies};
}
ForbiddenAct inPlugindGets(int error, std::string_view name, std::uint64_t number,
                           std::array<std::uint64_t, 6> args = {}) {
  return {name, {number, args}, kDies, gets(error)};
}

void addFilesAndSockets(std::vector<ForbiddenAct>& acts) {
  acts.insert(acts.end(), {
                              {"Open", {SYS_open}, kPrivdsOpen, gets(EACCES)},
                              inPlugindGets(EACCES, "OpenAt", SYS_openat, {kHere}),
                              plugindOnly("OpenAt2", SYS_openat2, {kHere}),
                              both("OpenByHandleAt", SYS_open_by_handle_at, {kHere}),
                              both("NameToHandleAt", SYS_name_to_handle_at, {kHere}),
                              both("Creat", SYS_creat),
                              plugindOnly("ReadDirectory", SYS_getdents64, {kNobody}),
                              plugindOnly("ReadLinkAt", SYS_readlinkat, {kHere}),
                              plugindOnly("RenameAt", SYS_renameat, {kHere, 0, kHere}),
                              plugindOnly("UnlinkAt", SYS_unlinkat, {kHere}),
                              both("RemoveDirectoryAt", SYS_unlinkat, {kHere, 0, AT_REMOVEDIR}),
                              plugindOnly("FileSync", SYS_fsync, {kNobody}),
                              both("Unlink", SYS_unlink),
                              both("MakeNode", SYS_mknod),
                              both("MakeDirectory", SYS_mkdir),
                              both("ChangeMode", SYS_chmod),
                              both("ChangeModeAt", SYS_fchmodat, {kHere}),
                              both("ChangeOwner", SYS_chown),
                              both("ChangeOwnerAt", SYS_fchownat, {kHere}),
                              both("Link", SYS_link),
                              both("Symlink", SYS_symlink),
                              both("Truncate", SYS_truncate),
                              both("TruncateDescriptor", SYS_ftruncate, {kNobody}),
                              both("SetAttribute", SYS_setxattr),
                              both("MemoryFile", SYS_memfd_create),
                              both("IoctlOfADescriptor", SYS_ioctl, {kNobody}),
                              both("SocketInet", SYS_socket, {AF_INET, SOCK_STREAM}),
                              both("SocketInet6", SYS_socket, {AF_INET6, SOCK_STREAM}),
                              both("SocketNetlink", SYS_socket, {AF_NETLINK, SOCK_RAW}),
                              both("SocketPacket", SYS_socket, {AF_PACKET, SOCK_RAW}),
                              both("SocketVsock", SYS_socket, {AF_VSOCK, SOCK_STREAM}),
                              both("SocketAlg", SYS_socket, {AF_ALG, SOCK_SEQPACKET}),
                              plugindOnly("SocketUnix", SYS_socket, {AF_UNIX, SOCK_STREAM}),
                              plugindOnly("SocketPair", SYS_socketpair, {AF_UNIX, SOCK_STREAM}),
                              plugindOnly("Bind", SYS_bind, {kNobody}),
                              plugindOnly("Listen", SYS_listen, {kNobody}),
                              plugindOnly("Connect", SYS_connect, {kNobody}),
                              both("AttachFilterToSocket", SYS_setsockopt,
                                   {kNobody, SOL_SOCKET, SO_ATTACH_FILTER}),
                          });
}

void addProcessesAndMemory(std::vector<ForbiddenAct>& acts) {
  acts.insert(acts.end(),
              {
                  both("Exec", SYS_execve),
                  both("ExecAt", SYS_execveat, {kNobody}),
                  both("Fork", SYS_fork),
                  both("Vfork", SYS_vfork),
                  both("CloneAProcess", SYS_clone, {SIGCHLD}),
                  both("CloneIntoNamespace", SYS_clone, {CLONE_NEWUSER | SIGCHLD}),
                  inPlugindGets(ENOSYS, "Clone3", SYS_clone3),
                  both("Ptrace", SYS_ptrace, {kNobody, kNobody}),
                  both("ReadOthersMemory", SYS_process_vm_readv, {kNobody}),
                  both("WriteOthersMemory", SYS_process_vm_writev, {kNobody}),
                  both("TakeOthersDescriptor", SYS_pidfd_getfd, {kNobody}),
                  both("Kill", SYS_kill, {kNobody >> 33}),
                  both("KillThreadOfAnother", SYS_tgkill, {kNobody >> 33, kNobody >> 33, SIGABRT}),
                  both("UserFaults", SYS_userfaultfd, {kNobody}),
                  both("ExecutableMapping", SYS_mmap,
                       {0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, kNobody}),
                  both("MemoryTurnedExecutable", SYS_mprotect, {1, 4096, PROT_READ | PROT_EXEC}),
                  both("MemoryTurnedExecutableByKey", SYS_pkey_mprotect,
                       {1, 4096, PROT_READ | PROT_EXEC, kNobody}),
                  both("Personality", SYS_personality, {0xffffffff}),
                  both("MakeDumpableAgain", SYS_prctl, {PR_SET_DUMPABLE, 77}),
                  both("LetAnyoneTrace", SYS_prctl, {PR_SET_PTRACER, kNobody >> 33}),
                  both("AnotherFilter", SYS_seccomp, {kNobody}),
                  both("Landlock", SYS_landlock_create_ruleset),
                  both("MoreLimits", SYS_prlimit64, {0, kNobody}),
              });
}

void addSystem(std::vector<ForbiddenAct>& acts) {
  acts.insert(acts.end(), {
                              both("Mount", SYS_mount),
                              both("NewMountInterface", SYS_fsopen),
                              both("MoveMount", SYS_move_mount, {kNobody, 0, kNobody}),
                              both("Unmount", SYS_umount2),
                              both("PivotRoot", SYS_pivot_root),
                              both("ChangeRoot", SYS_chroot),
                              both("ChangeDirectory", SYS_chdir),
                              both("Unshare", SYS_unshare, {CLONE_NEWUSER | CLONE_THREAD}),
                              both("EnterNamespace", SYS_setns, {kNobody}),
                              both("Bpf", SYS_bpf, {kNobody}),
                              both("IoUring", SYS_io_uring_setup),
                              both("AsyncIo", SYS_io_setup),
                              both("PerfEvents", SYS_perf_event_open),
                              both("Keyctl", SYS_keyctl, {kNobody}),
                              both("AddKey", SYS_add_key),
                              both("LoadModule", SYS_init_module),
                              both("LoadModuleFromFile", SYS_finit_module, {kNobody}),
                              both("UnloadModule", SYS_delete_module),
                              both("LoadKernel", SYS_kexec_load, {0, 77}),
                              both("Reboot", SYS_reboot, {0, 0}),
                              both("SwapOn", SYS_swapon),
                              both("Quota", SYS_quotactl, {kNobody}),
                              both("Accounting", SYS_acct, {1}),
                              both("SetUid", SYS_setuid, {kNobody}),
                              both("SetGid", SYS_setgid, {kNobody}),
                              both("SetResUid", SYS_setresuid, {kNobody, kNobody, kNobody}),
                              both("SetGroups", SYS_setgroups, {kNobody}),
                              both("SetCapabilities", SYS_capset),
                              both("PortPermission", SYS_ioperm, {kNobody, 1}),
                              both("PortLevel", SYS_iopl, {77}),
                              both("KernelLog", SYS_syslog, {77}),
                              both("SetClock", SYS_clock_settime, {77}),
                              both("HostName", SYS_sethostname, {0, kNobody}),
                              both("X32GetPid", SYS_getpid | kX32Bit),
                              both("X32Read", SYS_read | kX32Bit, {kNobody}),
                              both("NoSuchCall", 9999),
                              {"GetPidOfI386", {20, {}, Door::kInt80}, kDies, kDies},
                          });
}

}  // namespace

std::span<const ForbiddenAct> forbiddenActs() {
  static const std::vector<ForbiddenAct> kActs = [] {
    std::vector<ForbiddenAct> acts;
    addFilesAndSockets(acts);
    addProcessesAndMemory(acts);
    addSystem(acts);
    return acts;
  }();
  return kActs;
}

void PrintTo(const ForbiddenAct& act, std::ostream* out) {
  *out << act.name;
}

}  // namespace vfiogate::test
