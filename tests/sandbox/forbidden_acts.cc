#include "tests/sandbox/forbidden_acts.h"

#include "seccomp/sanitizer_rules.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cerrno>
#include <csignal>
#include <ostream>
#include <utility>
#include <vector>

namespace vfiogate::test {
namespace {

constexpr std::uint64_t kX32Bit = 0x40000000;
constexpr std::uint64_t kHere = static_cast<std::uint64_t>(AT_FDCWD);
constexpr std::uint64_t kNobody = ~0ULL;  // a descriptor, id or address that is none

const CallOutcome kDies = Killed{SIGSYS};

CallOutcome gets(int error) {
  return Returned{-error};
}

// Under a sanitizer's report a late open is answered everywhere (seccomp/sanitizer_rules.h).
const CallOutcome kLateOpen = kSanitizerRules.empty() ? kDies : gets(EACCES);

ForbiddenAct nobodys(std::string_view name, std::uint64_t number,
                     std::array<std::uint64_t, 6> args = {}) {
  return {name, {number, args}, kDies};
}
/// These may do it, and no other process.
ForbiddenAct alone(std::vector<Role> may, std::string_view name, std::uint64_t number,
                   std::array<std::uint64_t, 6> args = {}) {
  return {name, {number, args}, kDies, std::move(may)};
}
ForbiddenAct inPlugindGets(int error, std::string_view name, std::uint64_t number,
                           std::array<std::uint64_t, 6> args = {}) {
  return {name, {number, args}, kDies, {}, gets(error)};
}

const std::vector<Role> kSysfsReaders{Role::kHardware, Role::kBinder};
/// privd-gate and privd-binder.
const std::vector<Role> kWorkingRoots{Role::kGate, Role::kBinder};
/// They open files, and dial plugind.
const std::vector<Role> kPrivdRoles{Role::kHardware, Role::kGate, Role::kBinder};
/// privd-iommufd opens a device, too.
const std::vector<Role> kOpeners{Role::kHardware, Role::kGate, Role::kBinder, Role::kIommufd};

void addFilesAndSockets(std::vector<ForbiddenAct>& acts) {
  acts.insert(
      acts.end(),
      {
          {"Open", {SYS_open}, kLateOpen},
          inPlugindGets(EACCES, "OpenAt", SYS_openat, {kHere}),
          inPlugindGets(EACCES, "OpenAtToWrite", SYS_openat, {kHere, 0, O_WRONLY | O_CLOEXEC}),
          inPlugindGets(EACCES, "OpenAtToCreate", SYS_openat,
                        {kHere, 0, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_CREAT}),
          alone(kOpeners, "OpenAt2", SYS_openat2, {kHere}),
          nobodys("OpenByHandleAt", SYS_open_by_handle_at, {kHere}),
          nobodys("NameToHandleAt", SYS_name_to_handle_at, {kHere}),
          nobodys("Creat", SYS_creat),
          alone(kPrivdRoles, "ReadDirectory", SYS_getdents64, {kNobody}),
          alone(kSysfsReaders, "ReadLinkAt", SYS_readlinkat, {kHere}),
          alone(kWorkingRoots, "RenameAt", SYS_renameat, {kHere, 0, kHere}),
          alone(kWorkingRoots, "UnlinkAt", SYS_unlinkat, {kHere}),
          nobodys("RemoveDirectoryAt", SYS_unlinkat, {kHere, 0, AT_REMOVEDIR}),
          alone(kWorkingRoots, "FileSync", SYS_fsync, {kNobody}),
          nobodys("Unlink", SYS_unlink),
          nobodys("MakeNode", SYS_mknod),
          nobodys("MakeDirectory", SYS_mkdir),
          nobodys("ChangeMode", SYS_chmod),
          nobodys("ChangeModeAt", SYS_fchmodat, {kHere}),
          nobodys("ChangeOwner", SYS_chown),
          nobodys("ChangeOwnerAt", SYS_fchownat, {kHere}),
          nobodys("Link", SYS_link),
          nobodys("Symlink", SYS_symlink),
          nobodys("Truncate", SYS_truncate),
          alone(kWorkingRoots, "TruncateDescriptor", SYS_ftruncate, {kNobody}),
          nobodys("SetAttribute", SYS_setxattr),
          nobodys("MemoryFile", SYS_memfd_create),
          nobodys("IoctlOfADescriptor", SYS_ioctl, {kNobody}),
          nobodys("SocketInet", SYS_socket, {AF_INET, SOCK_STREAM}),
          nobodys("SocketInet6", SYS_socket, {AF_INET6, SOCK_STREAM}),
          nobodys("SocketInetDatagram", SYS_socket,
                  {AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK}),
          nobodys("SocketInetRaw", SYS_socket, {AF_INET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK}),
          nobodys("SocketNetlink", SYS_socket, {AF_NETLINK, SOCK_RAW}),
          nobodys("SocketPacket", SYS_socket, {AF_PACKET, SOCK_RAW}),
          nobodys("SocketVsock", SYS_socket, {AF_VSOCK, SOCK_STREAM}),
          nobodys("SocketAlg", SYS_socket, {AF_ALG, SOCK_SEQPACKET}),
          nobodys("SocketKey", SYS_socket, {AF_KEY, SOCK_RAW}),
          nobodys("SocketCan", SYS_socket, {AF_CAN, SOCK_RAW}),
          nobodys("SocketBluetooth", SYS_socket, {AF_BLUETOOTH, SOCK_RAW}),
          nobodys("SocketTipc", SYS_socket, {AF_TIPC, SOCK_RDM}),
          nobodys("SocketRxrpc", SYS_socket, {AF_RXRPC, SOCK_DGRAM}),
          nobodys("SocketXdp", SYS_socket, {AF_XDP, SOCK_RAW}),
          nobodys("SocketPairInet", SYS_socketpair, {AF_INET, SOCK_STREAM}),
          alone(kPrivdRoles, "SocketUnix", SYS_socket, {AF_UNIX, SOCK_STREAM}),
          alone(kPrivdRoles, "DatagramSocketUnix", SYS_socket, {AF_UNIX, SOCK_DGRAM}),
          nobodys("Accept", SYS_accept, {kNobody}),
          alone({Role::kIommufd, Role::kPlugind, Role::kNetdMetrics}, "Accept4", SYS_accept4,
                {kNobody}),
          nobodys("SendTo", SYS_sendto, {kNobody}),
          alone(kWorkingRoots, "SocketPair", SYS_socketpair, {AF_UNIX, SOCK_STREAM}),
          alone({Role::kGate}, "Bind", SYS_bind, {kNobody}),
          alone({Role::kGate}, "Listen", SYS_listen, {kNobody}),
          alone({Role::kHardware, Role::kGate, Role::kBinder, Role::kNetdMetrics, Role::kNetdDra},
                "Connect", SYS_connect, {kNobody}),
          alone({Role::kHardware, Role::kGate, Role::kBinder, Role::kIommufd, Role::kPlugind},
                "SendMessage", SYS_sendmsg, {kNobody}),
          alone(kPrivdRoles, "WatchADirectory", SYS_inotify_add_watch, {kNobody}),
          alone(kWorkingRoots, "Lock", SYS_flock, {kNobody, LOCK_EX | LOCK_NB}),
          nobodys("LockWaiting", SYS_flock, {kNobody, LOCK_EX}),
          alone({Role::kBinder}, "RoomOfAFileSystem", SYS_fstatfs, {kNobody}),
          nobodys("AttachFilterToSocket", SYS_setsockopt, {kNobody, SOL_SOCKET, SO_ATTACH_FILTER}),
      });
}

void addProcessesAndMemory(std::vector<ForbiddenAct>& acts) {
  acts.insert(
      acts.end(),
      {
          nobodys("Exec", SYS_execve),
          nobodys("ExecAt", SYS_execveat, {kNobody}),
          nobodys("Fork", SYS_fork),
          nobodys("Vfork", SYS_vfork),
          alone({Role::kForkServer}, "CloneAProcess", SYS_clone, {SIGCHLD}),
          nobodys("CloneIntoNamespace", SYS_clone, {CLONE_NEWUSER | SIGCHLD}),
          nobodys("CloneSharingMemory", SYS_clone, {CLONE_VM | CLONE_VFORK | SIGCHLD}),
          nobodys("CloneASibling", SYS_clone, {CLONE_PARENT | SIGCHLD}),
          inPlugindGets(ENOSYS, "Clone3", SYS_clone3),
          nobodys("Ptrace", SYS_ptrace, {kNobody, kNobody}),
          nobodys("ReadOthersMemory", SYS_process_vm_readv, {kNobody}),
          nobodys("WriteOthersMemory", SYS_process_vm_writev, {kNobody}),
          nobodys("TakeOthersDescriptor", SYS_pidfd_getfd, {kNobody}),
          nobodys("HoldAProcess", SYS_pidfd_open, {kNobody >> 33}),
          nobodys("SignalAProcess", SYS_pidfd_send_signal, {kNobody}),
          nobodys("Kill", SYS_kill, {kNobody >> 33}),
          nobodys("KillThreadOfAnother", SYS_tgkill, {kNobody >> 33, kNobody >> 33, SIGABRT}),
          nobodys("UserFaults", SYS_userfaultfd, {kNobody}),
          nobodys("ExecutableMapping", SYS_mmap,
                  {0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, kNobody}),
          nobodys("MemoryTurnedExecutable", SYS_mprotect, {1, 4096, PROT_READ | PROT_EXEC}),
          nobodys("MemoryTurnedExecutableByKey", SYS_pkey_mprotect,
                  {1, 4096, PROT_READ | PROT_EXEC, kNobody}),
          nobodys("Personality", SYS_personality, {0xffffffff}),
          nobodys("MakeDumpableAgain", SYS_prctl, {PR_SET_DUMPABLE, 77}),
          nobodys("LetAnyoneTrace", SYS_prctl, {PR_SET_PTRACER, kNobody >> 33}),
          nobodys("AnotherFilter", SYS_seccomp, {kNobody}),
          nobodys("FilterTheOlderWay", SYS_prctl, {PR_SET_SECCOMP, 77}),
          nobodys("MoveItsMemoryMap", SYS_prctl, {PR_SET_MM, 77}),
          nobodys("RaiseAnAmbientCapability", SYS_prctl,
                  {PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, 77}),
          nobodys("Landlock", SYS_landlock_create_ruleset),
          nobodys("LandlockItself", SYS_landlock_restrict_self, {kNobody}),
          nobodys("MoreLimits", SYS_prlimit64, {0, kNobody}),
      });
}

void addSystem(std::vector<ForbiddenAct>& acts) {
  acts.insert(acts.end(),
              {
                  nobodys("Mount", SYS_mount),
                  nobodys("NewMountInterface", SYS_fsopen),
                  nobodys("MountANewOne", SYS_fsmount, {kNobody}),
                  nobodys("OpenAMount", SYS_open_tree, {kNobody}),
                  nobodys("ChangeAMount", SYS_mount_setattr, {kNobody}),
                  nobodys("MoveMount", SYS_move_mount, {kNobody, 0, kNobody}),
                  nobodys("Unmount", SYS_umount2),
                  nobodys("PivotRoot", SYS_pivot_root),
                  nobodys("ChangeRoot", SYS_chroot),
                  nobodys("ChangeDirectory", SYS_chdir),
                  nobodys("Unshare", SYS_unshare, {CLONE_NEWUSER | CLONE_THREAD}),
                  nobodys("EnterNamespace", SYS_setns, {kNobody}),
                  nobodys("Bpf", SYS_bpf, {kNobody}),
                  nobodys("IoUring", SYS_io_uring_setup),
                  nobodys("EnterIoUring", SYS_io_uring_enter, {kNobody}),
                  nobodys("RegisterWithIoUring", SYS_io_uring_register, {kNobody}),
                  nobodys("AsyncIo", SYS_io_setup),
                  nobodys("PerfEvents", SYS_perf_event_open),
                  nobodys("Keyctl", SYS_keyctl, {kNobody}),
                  nobodys("AddKey", SYS_add_key),
                  nobodys("RequestKey", SYS_request_key),
                  nobodys("LoadModule", SYS_init_module),
                  nobodys("LoadModuleFromFile", SYS_finit_module, {kNobody}),
                  nobodys("UnloadModule", SYS_delete_module),
                  nobodys("LoadKernel", SYS_kexec_load, {0, 77}),
                  nobodys("LoadKernelFromFile", SYS_kexec_file_load, {kNobody, kNobody}),
                  nobodys("Reboot", SYS_reboot, {0, 0}),
                  nobodys("SwapOn", SYS_swapon),
                  nobodys("Quota", SYS_quotactl, {kNobody}),
                  nobodys("Accounting", SYS_acct, {1}),
                  nobodys("SetUid", SYS_setuid, {kNobody}),
                  nobodys("SetGid", SYS_setgid, {kNobody}),
                  nobodys("SetResUid", SYS_setresuid, {kNobody, kNobody, kNobody}),
                  nobodys("SetReUid", SYS_setreuid, {kNobody, kNobody}),
                  nobodys("SetFsUid", SYS_setfsuid, {kNobody}),
                  nobodys("SetGroups", SYS_setgroups, {kNobody}),
                  alone({Role::kIommufd}, "SetCapabilities", SYS_capset),
                  nobodys("PortPermission", SYS_ioperm, {kNobody, 1}),
                  nobodys("PortLevel", SYS_iopl, {77}),
                  nobodys("KernelLog", SYS_syslog, {77}),
                  nobodys("SetClock", SYS_clock_settime, {77}),
                  nobodys("HostName", SYS_sethostname, {0, kNobody}),
                  nobodys("X32GetPid", SYS_getpid | kX32Bit),
                  nobodys("X32Read", SYS_read | kX32Bit, {kNobody}),
                  nobodys("NoSuchCall", 9999),
                  {"GetPidOfI386", {20, {}, Entry::kInt80}, kDies},
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
