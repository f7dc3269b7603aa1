#pragma once
// What a container may ask of the kernel beside its program's own table: what the runtime still
// does once it has loaded a profile, and what a program does before it has loaded its own filter.
// Nothing here is in any filter of ours: it is printed as a profile for the runtime
// (print_profile.h).

#include "seccomp/shared_rules.h"

#if defined(__x86_64__)
#include <asm/prctl.h>
#endif
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <seccomp.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>

namespace vfiogate {

/// runc, with no_new_privs: it is a Go program, loads the profile last, tells its parent, waits to
/// be started, closes what it does not hand on, becomes the program. crun does a part of the same.
inline constexpr std::array kRuntimeRules{
    Rule{SCMP_SYS(execve), kAnyArgs, "runtime: becomes the program"},
    Rule{SCMP_SYS(openat), intIs(2, O_WRONLY | O_CLOEXEC, "flags are O_WRONLY|O_CLOEXEC"),
         "runtime: the pipe on which it waits to be started"},
    Rule{SCMP_SYS(openat),
         without(2, O_ACCMODE | O_CREAT | O_TRUNC,
                 "flags without O_WRONLY, O_RDWR, O_CREAT, O_TRUNC"),
         "runtime: /proc/self/fd. Program: libraries, configuration"},
    Rule{SCMP_SYS(read), kAnyArgs, "runtime: its parent's answer. Program: files"},
    Rule{SCMP_SYS(write), kAnyArgs,
         "runtime: tells its parent. Program: log, or why it will not start"},
    Rule{SCMP_SYS(close), kAnyArgs, "runtime: what it does not hand on. Program: files"},
    Rule{SCMP_SYS(fcntl), intIs(1, F_SETFD, "cmd is F_SETFD"), "runtime: marks what to close"},
    Rule{SCMP_SYS(fcntl), intIs(1, F_GETFL, "cmd is F_GETFL"), "runtime: asks what it opened"},
    Rule{SCMP_SYS(fstat), kAnyArgs, "runtime: asks what it opened"},
    Rule{SCMP_SYS(newfstatat), kAnyArgs,
         "runtime: asks what it opened. Program: size of a library"},
    Rule{SCMP_SYS(fstatfs), kAnyArgs, "runtime: that /proc is the kernel's"},
    Rule{SCMP_SYS(getdents64), kAnyArgs, "runtime: lists its descriptors"},
    Rule{SCMP_SYS(getpid), kAnyArgs, "runtime: its state. Program: who holds a lock"},
    Rule{SCMP_SYS(getppid), kAnyArgs, "runtime: that its parent lives"},
    Rule{SCMP_SYS(prctl), intIs(0, PR_SET_NO_NEW_PRIVS, "option is PR_SET_NO_NEW_PRIVS"),
         "runtime: again. Program: no exec gives power back"},
    Rule{SCMP_SYS(epoll_create1), kAnyArgs, "Go's poller. Program: KJ's event loop"},
    Rule{SCMP_SYS(epoll_ctl), kAnyArgs, "Go's poller. Program: KJ's event loop"},
    Rule{SCMP_SYS(epoll_pwait), kAnyArgs, "Go's poller"},
    Rule{SCMP_SYS(eventfd2), kAnyArgs, "Go's poller. Program: KJ's wake-up descriptor"},
    Rule{SCMP_SYS(pipe2), kAnyArgs, "Go's poller. Program: standard input ends"},
    Rule{SCMP_SYS(clone), ArgCheck{0, CLONE_THREAD, CLONE_THREAD, "flags with CLONE_THREAD"},
         "Go starts threads when it likes; a process, never"},
    Rule{SCMP_SYS(clone3), AnswerErrno{ENOSYS},
         "its flags lie in memory, where a filter cannot see them; glibc falls back to clone"},
    Rule{SCMP_SYS(set_robust_list), kAnyArgs, "start of a thread"},
    Rule{SCMP_SYS(rseq), kAnyArgs, "start of a thread"},
    Rule{SCMP_SYS(sigaltstack), kAnyArgs, "start of a thread of Go"},
    Rule{SCMP_SYS(mprotect), without(2, PROT_EXEC, "prot without PROT_EXEC"),
         "stack of a thread. Program: what is constant once it is linked"},
    Rule{SCMP_SYS(mmap), kAnyArgs, "heap. Program: libraries, whose code has to be executable"},
    Rule{SCMP_SYS(munmap), kAnyArgs, "gives memory back"},
    Rule{SCMP_SYS(madvise), kAnyArgs, "Go gives memory back"},
    Rule{SCMP_SYS(brk), kAnyArgs, "heap of the C library"},
    Rule{SCMP_SYS(futex), kAnyArgs, "locks"},
    Rule{SCMP_SYS(nanosleep), kAnyArgs, "Go's watching thread"},
    Rule{SCMP_SYS(sched_yield), kAnyArgs, "Go's locks"},
    Rule{SCMP_SYS(gettid), kAnyArgs, "Go interrupts a thread of its own"},
    Rule{SCMP_SYS(tgkill), intIs(2, SIGURG, "signal is SIGURG"),
         "Go interrupts a thread of its own"},
    Rule{SCMP_SYS(rt_sigaction), kAnyArgs, "Go's handlers. Program: SIGPIPE is ignored"},
    Rule{SCMP_SYS(rt_sigprocmask), kAnyArgs,
         "start of a thread. Program: signals are read, not handled"},
    Rule{SCMP_SYS(rt_sigreturn), kAnyArgs, "return from a signal handler"},
    Rule{SCMP_SYS(prlimit64), intIs(0, 0, "process is itself"),
         "runtime: the limit that Go raised. Program: no core dumps, more descriptors"},
    Rule{SCMP_SYS(exit_group), kAnyArgs, "why it will not start was said"},
};

#if defined(__x86_64__)
/// The same, before all else.
inline constexpr std::array kThreadMemoryRules{
    Rule{SCMP_SYS(arch_prctl), intIs(0, ARCH_SET_FS, "code is ARCH_SET_FS"), "thread-local memory"},
};
/// Those that keep files.
inline constexpr std::array kMakeDirectoryRules{
    Rule{SCMP_SYS(mkdir), kAnyArgs, "the directories of the locks and of what it keeps"},
};
#else
// A program sets the register itself, and mkdir() is mkdirat, which those that keep files may
// anyway.
inline constexpr std::array<Rule, 0> kThreadMemoryRules{};
inline constexpr std::array<Rule, 0> kMakeDirectoryRules{};
#endif

/// Every program, from its first instruction to its filter; and its commands, which load
/// none.
inline constexpr std::array kStartupRules{
    // C library
    Rule{SCMP_SYS(set_tid_address), kAnyArgs, "the thread learns its number",
         Defensive{"abort() names its own thread"}},
    Rule{SCMP_SYS(pread64), kAnyArgs, "headers of a library"},
    Rule{SCMP_SYS(getrandom), kAnyArgs, "the secret of malloc's own checks",
         Defensive{"the secret should not be guessed from time and address"}},

    // Dropping power
    Rule{SCMP_SYS(geteuid), kAnyArgs, "whether it is root"},
    Rule{SCMP_SYS(close_range), kAnyArgs, "stray descriptors"},
    Rule{SCMP_SYS(fcntl), intIs(1, F_GETFD, "cmd is F_GETFD"), "which of 0, 1, 2 are open"},
    Rule{SCMP_SYS(dup3), kAnyArgs, "standard input ends"},
    Rule{SCMP_SYS(prctl), intIs(0, PR_CAPBSET_READ, "option is PR_CAPBSET_READ"),
         "capabilities that the kernel knows"},
    Rule{SCMP_SYS(prctl), intIs(0, PR_CAPBSET_DROP, "option is PR_CAPBSET_DROP"),
         "the bounding set empties", Defensive{"the runtime left something in it"}},
    Rule{SCMP_SYS(prctl), intIs(0, PR_CAP_AMBIENT, "option is PR_CAP_AMBIENT"),
         "the ambient set empties"},
    Rule{SCMP_SYS(capset), kAnyArgs, "the other sets empty"},
    Rule{SCMP_SYS(capget), kAnyArgs, "that they are empty"},
    Rule{SCMP_SYS(prctl), intIs(0, PR_GET_NO_NEW_PRIVS, "option is PR_GET_NO_NEW_PRIVS"),
         "that it is set"},
    Rule{SCMP_SYS(prctl), intIs(0, PR_SET_DUMPABLE, "option is PR_SET_DUMPABLE"),
         "no dump, no ptrace"},
    Rule{SCMP_SYS(prctl), intIs(0, PR_GET_DUMPABLE, "option is PR_GET_DUMPABLE"), "that it is set"},
    Rule{SCMP_SYS(landlock_create_ruleset), kAnyArgs, "what files may be opened from now on",
         Defensive{"the kernel has Landlock"}},
    Rule{SCMP_SYS(landlock_add_rule), kAnyArgs, "and where", Defensive{"the kernel has Landlock"}},
    Rule{SCMP_SYS(landlock_restrict_self), kAnyArgs, "for good; it can only become less",
         Defensive{"the kernel has Landlock"}},
    Rule{SCMP_SYS(seccomp), kAnyArgs, "its own filter; one can only be added"},

    // Event loop
    Rule{kLoopWaits, kAnyArgs, "KJ's event loop"},
    Rule{SCMP_SYS(signalfd4), kAnyArgs, "SIGTERM and SIGINT as bytes to read"},
};

/// The third of openat(), of a file that is made to be locked.
inline constexpr ArgCheck kOpensLock = intIs(2, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
                                             "flags are O_RDWR|O_CREAT|O_NOFOLLOW|O_CLOEXEC");

/// Each of privd's roles.
inline constexpr std::array kRoleStartupRules{
    Rule{SCMP_SYS(fcntl), intIs(1, F_SETFL, "cmd is F_SETFL"), "its log is never waited for",
         Defensive{"the log is a pipe or a socket, and its reader has stopped"}},
    Rule{SCMP_SYS(inotify_init1), kAnyArgs, "watches for sockets that come and go"},
};

/// Those that hear of hardware.
inline constexpr std::array kUeventRules{
    Rule{SCMP_SYS(socket),
         {intIs(0, AF_NETLINK, "domain is AF_NETLINK"),
          intIs(2, NETLINK_KOBJECT_UEVENT, "protocol is NETLINK_KOBJECT_UEVENT")},
         "the kernel's events"},
    Rule{SCMP_SYS(bind), kAnyArgs, "the kernel's events; no other socket is there yet"},
    Rule{
        SCMP_SYS(setsockopt),
        {intIs(1, SOL_SOCKET, "level is SOL_SOCKET"), intIs(2, SO_PASSCRED, "name is SO_PASSCRED")},
        "who sent an event"},
    Rule{SCMP_SYS(setsockopt),
         {intIs(1, SOL_SOCKET, "level is SOL_SOCKET"), intIs(2, SO_RCVBUF, "name is SO_RCVBUF")},
         "room for many events",
         Defensive{"more events come at once than the usual room holds"}},
};

/// Those that keep files.
inline constexpr std::array kKeptStateRules{
    Rule{SCMP_SYS(openat), kOpensLock, "the lock of the one of its kind a node"},
    Rule{SCMP_SYS(openat),
         intIs(2, O_RDONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
               "flags are O_CREAT|O_NOFOLLOW|O_CLOEXEC"),
         "the lock of the one plugind a node"},
    Rule{SCMP_SYS(ftruncate), kAnyArgs, "who holds the lock"},
    Rule{SCMP_SYS(pwrite64), kAnyArgs, "who holds the lock"},
};

/// privd-hardware, and commands in its container.
inline constexpr auto kHardwareStartupRules = joined(kRoleStartupRules, kUeventRules);

/// privd-gate, and commands in its container.
inline constexpr auto kGateStartupRules =
    joined(joined(kRoleStartupRules, kKeptStateRules, kMakeDirectoryRules),
           std::array{
               Rule{SCMP_SYS(uname), kAnyArgs, "the host's name, for whoever waits for the lock",
                    Defensive{"another gate waits and names who holds the lock"}},
               Rule{SCMP_SYS(flock), intIs(1, LOCK_UN, "operation is LOCK_UN"),
                    "privd hold: the next one's turn at the folder of exclusions"},
               Rule{SCMP_SYS(mkdirat), kAnyArgs, "the folder of exclusions",
                    Defensive{"somebody removed it, and privd hold makes it anew"}},
           });

/// privd-binder, and commands in its container.
inline constexpr auto kBinderStartupRules =
    joined(joined(kHardwareStartupRules, kKeptStateRules, kMakeDirectoryRules),
           std::array{
               Rule{SCMP_SYS(mkdirat), kAnyArgs, "what is kept of bindings and holds"},
               Rule{SCMP_SYS(uname), kAnyArgs,
                    "the host's name, for whoever waits for the lock; the kernel's release, for "
                    "its modules",
                    Defensive{"another binder waits and names who holds the lock, or the host's "
                              "modules are there to choose drivers by"}},
               Rule{SCMP_SYS(lseek), kAnyArgs,
                    "what others append to the audit log is read from its end on"},
           });

/// A program that becomes a user of its own.
inline constexpr std::array kOwnUserRules{
    Rule{SCMP_SYS(setresgid), kAnyArgs, "its group"},
    Rule{SCMP_SYS(setresuid), kAnyArgs, "its user"},
    Rule{SCMP_SYS(getgroups), kAnyArgs, "that there are no others"},
    Rule{SCMP_SYS(getresuid), kAnyArgs, "that it is this user"},
    Rule{SCMP_SYS(getresgid), kAnyArgs, "that it is this group"},
};

/// plugind, and its commands in its container: the probes.
inline constexpr auto kPlugindStartupRules =
    joined(kOwnUserRules,
           std::array{
               Rule{SCMP_SYS(openat), kOpensLock, "the lock beside its socket"},
               Rule{SCMP_SYS(flock), intIs(1, LOCK_EX | LOCK_NB, "operation is LOCK_EX|LOCK_NB"),
                    "nobody else takes the socket's place meanwhile"},
               Rule{SCMP_SYS(umask), kAnyArgs, "mode of its socket at bind"},
               Rule{SCMP_SYS(socket), intIs(0, AF_UNIX, "domain is AF_UNIX"), "its socket"},
               Rule{SCMP_SYS(bind), kAnyArgs, "its socket; only local ones exist"},
               Rule{SCMP_SYS(listen), kAnyArgs, "its socket"},
               Rule{SCMP_SYS(renameat), kAnyArgs, "its socket takes its name over the old one"},
               Rule{SCMP_SYS(connect), kAnyArgs,
                    "whether somebody listens there already; probe, status and explain dial it"},
           });

/// `netd metrics`.
inline constexpr auto kNetdMetricsStartupRules =
    joined(kOwnUserRules, std::array{
                              Rule{SCMP_SYS(socket),
                                   {ArgCheck{0, ~std::uint64_t{AF_INET ^ AF_INET6} & 0xffffffffU,
                                             AF_INET& AF_INET6, "domain is AF_INET or AF_INET6"},
                                    ArgCheck{1, 0xf, SOCK_STREAM, "type is SOCK_STREAM"}},
                                   "its listener"},
                              Rule{SCMP_SYS(setsockopt),
                                   {intIs(1, SOL_SOCKET, "level is SOL_SOCKET"),
                                    intIs(2, SO_REUSEADDR, "name is SO_REUSEADDR")},
                                   "its listener"},
                              Rule{SCMP_SYS(setsockopt),
                                   {intIs(1, IPPROTO_TCP, "level is IPPROTO_TCP"),
                                    intIs(2, TCP_NODELAY, "name is TCP_NODELAY")},
                                   "its listener"},
                              Rule{SCMP_SYS(bind), kAnyArgs, "its listener"},
                              Rule{SCMP_SYS(listen), kAnyArgs, "its listener"},
                              Rule{SCMP_SYS(getsockname), kAnyArgs, "which port it got"},
                          });

/// `netd dra`.
inline constexpr auto kNetdDraStartupRules =
    joined(kOwnUserRules, std::array{Rule{SCMP_SYS(sysinfo), kAnyArgs, "OpenSSL's start"}});

static_assert(isSound(kRuntimeRules) && isSound(kStartupRules) && isSound(kHardwareStartupRules) &&
              isSound(kGateStartupRules) && isSound(kBinderStartupRules) &&
              isSound(kPlugindStartupRules) && isSound(kNetdMetricsStartupRules) &&
              isSound(kNetdDraStartupRules));

}  // namespace vfiogate
