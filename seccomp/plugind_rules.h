#pragma once
// What plugind may ask of the kernel once it is locked down: event loops, sockets that it was
// handed, memory, threads of gRPC. Nothing that takes a path, creates a socket or starts a program.

#include "seccomp/rule.h"
#include "seccomp/shared_rules.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <csignal>

namespace vfiogate {

/// The flags of pthread_create, no others: not a process, not a namespace.
inline constexpr unsigned kThreadFlags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SYSVSEM |
                                         CLONE_SIGHAND | CLONE_THREAD | CLONE_SETTLS |
                                         CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;

inline constexpr std::array kPlugindRules{
    // Event loops
    Rule{kLoopWaits, kAnyArgs, "both event loops, KJ's and gRPC's, wait here"},
    Rule{SCMP_SYS(epoll_ctl), kAnyArgs, "watch descriptors that were handed over"},
    Rule{SCMP_SYS(epoll_create1), kAnyArgs, "gRPC makes its poller with its first object"},
    Rule{SCMP_SYS(eventfd2), kAnyArgs, "gRPC makes its wake-up descriptor with its first object"},

    // Descriptors that exist
    Rule{SCMP_SYS(read), kAnyArgs, "gRPC connections, wake-ups, configuration passed by privd"},
    Rule{SCMP_SYS(write), kAnyArgs, "log, wake-ups"},
    Rule{SCMP_SYS(writev), kAnyArgs, "Cap'n Proto messages"},
    Rule{SCMP_SYS(recvmsg), kAnyArgs, "gRPC connections, descriptors from privd"},
    Rule{SCMP_SYS(sendmsg), kAnyArgs, "gRPC connections"},
    Rule{SCMP_SYS(accept4), kAnyArgs, "connections of kubelet and privd, on listeners handed over"},
    Rule{SCMP_SYS(shutdown), kAnyArgs, "gRPC ends a connection"},
    Rule{SCMP_SYS(close), kAnyArgs, "gives descriptors back"},
    Rule{SCMP_SYS(getsockname), kAnyArgs, "gRPC names a connection for its log"},
    Rule{
        SCMP_SYS(getsockopt),
        {intIs(1, SOL_SOCKET, "level is SOL_SOCKET"), intIs(2, SO_PEERCRED, "name is SO_PEERCRED")},
        "who is at the other end"},
    Rule{SCMP_SYS(getsockopt),
         {intIs(1, SOL_SOCKET, "level is SOL_SOCKET"), intIs(2, SO_TYPE, "name is SO_TYPE")},
         "whether privd opened with a descriptor channel"},
    Rule{SCMP_SYS(setsockopt),
         {intIs(1, IPPROTO_TCP, "level is IPPROTO_TCP"), intIs(2, TCP_INQ, "name is TCP_INQ")},
         "gRPC tries it on every connection; on a local socket it fails harmlessly"},
    Rule{SCMP_SYS(fcntl), intIs(1, F_GETFL, "cmd is F_GETFL"), "gRPC checks a connection's flags"},
    Rule{SCMP_SYS(fcntl), intIs(1, F_SETFL, "cmd is F_SETFL"), "gRPC makes it non-blocking"},

    // Memory
    Rule{SCMP_SYS(mmap), without(2, PROT_EXEC, "prot without PROT_EXEC"), "heap, thread stacks"},
    Rule{SCMP_SYS(mprotect), without(2, PROT_EXEC, "prot without PROT_EXEC"),
         "heap growth, guard pages"},
    Rule{SCMP_SYS(munmap), kAnyArgs, "gives memory back"},
    Rule{SCMP_SYS(brk), kAnyArgs, "heap of the main thread",
         Defensive{"the heap outgrows what start-up left free"}},
    Rule{SCMP_SYS(mremap), kAnyArgs, "realloc of a large block",
         Defensive{"a message or snapshot above malloc's mmap threshold grows"}},
    Rule{SCMP_SYS(madvise), kAnyArgs, "gives a dead thread's stack and free heap back",
         Defensive{"a thread ends, or a heap shrinks"}},

    // Threads
    Rule{SCMP_SYS(clone), wordIs(0, kThreadFlags, "flags are exactly pthread_create's"),
         "gRPC starts its threads late; a process, never"},
    Rule{SCMP_SYS(clone3), AnswerErrno{ENOSYS},
         "its flags lie in memory, where a filter cannot see them; glibc falls back to clone"},
    Rule{SCMP_SYS(futex), kAnyArgs, "locks and condition variables"},
    Rule{SCMP_SYS(set_robust_list), kAnyArgs, "start of a thread"},
    Rule{SCMP_SYS(rseq), kAnyArgs, "start of a thread"},
    Rule{SCMP_SYS(gettid), kAnyArgs, "gRPC, log lines"},
    Rule{SCMP_SYS(prctl), intIs(0, PR_SET_NAME, "option is PR_SET_NAME"), "gRPC names its threads"},
    Rule{SystemCall{SCMP_SYS(prctl), "Abseil 20240722"},
         {intIs(0, PR_SET_VMA, "option is PR_SET_VMA"),
          intIs(1, PR_SET_VMA_ANON_NAME, "what is PR_SET_VMA_ANON_NAME")},
         "Abseil names its memory"},
    Rule{SCMP_SYS(rt_sigprocmask), kAnyArgs, "start of a thread, KJ's wait for signals"},
    Rule{SCMP_SYS(rt_sigaction), kAnyArgs, "glibc, with the first thread"},
    Rule{SCMP_SYS(sched_getaffinity), kAnyArgs, "how many processors there are"},
    Rule{SCMP_SYS(sched_yield), kAnyArgs, "absl's locks, after some turns without success",
         Defensive{"two threads meet in a short critical section"}},
    Rule{SCMP_SYS(clock_nanosleep), kAnyArgs, "absl's locks, after a turn given up",
         Defensive{"two threads meet in a short critical section, and the one is held up in it"}},
    Rule{SCMP_SYS(sched_getparam), kAnyArgs, "absl's locks queue a thread by its priority",
         Defensive{"a thread waits for a lock of absl's that another one holds"}},
    Rule{SCMP_SYS(sched_getscheduler), kAnyArgs, "the C library asks it with the priority",
         Defensive{"a thread waits for a lock of absl's that another one holds"}},
    Rule{SCMP_SYS(exit), kAnyArgs, "end of a thread",
         Defensive{"gRPC's pool shrinks after a burst"}},

    // Process
    Rule{SCMP_SYS(exit_group), kAnyArgs, "orderly end"},
    Rule{SCMP_SYS(uname), kAnyArgs, "gRPC asks for the kernel's version"},
    Rule{SCMP_SYS(openat), AnswerErrno{EACCES},
         "libraries open time zone and processor files late, and manage without"},
    kTime,
    Rule{SCMP_SYS(restart_syscall), kAnyArgs,
         "the kernel resumes a timed wait of a process that was stopped and continued"},
    kSignalReturns,
    kAbortNamesProcess,
    kAbortEnds,
};
static_assert(isSound(kPlugindRules));

}  // namespace vfiogate
