#pragma once
// Rows that several processes' tables have in common, each by its name, and needs that several
// calls fulfil. What x86-64 alone has is left out for ARM64, which never got a call that a later
// one had made superfluous: the C library makes the later one there.

#include "seccomp/rule.h"

#include <seccomp.h>

#include <csignal>

#if !defined(__x86_64__) && !defined(__aarch64__)
#error "the tables are those of x86-64 and ARM64"
#endif

namespace vfiogate {

// What libraries of different versions, or for different kernels, do by different calls
inline constexpr SystemCalls kFileStatus{
    {SCMP_SYS(newfstatat), "fstatat(); fstat() of glibc 2.33 to 2.38"},
    {SCMP_SYS(fstat), "fstat() of glibc 2.39 and later"}};
#if defined(__x86_64__)
inline constexpr SystemCalls kLoopWaits{{SCMP_SYS(epoll_wait), "KJ 0.9, gRPC 1.51"},
                                        {SCMP_SYS(epoll_pwait), "KJ 1.1"}};
#else
inline constexpr SystemCalls kLoopWaits{SCMP_SYS(epoll_pwait)};
#endif

// Memory
inline constexpr Rule kHeap{SCMP_SYS(brk), kAnyArgs, "heap",
                            Defensive{"the heap outgrows what start-up left free"}};
inline constexpr Rule kHeapShrinks{SCMP_SYS(madvise), kAnyArgs, "gives free heap back",
                                   Defensive{"the heap shrinks by much"}};

// Process
inline constexpr Rule kRuntimeLocks{SCMP_SYS(futex), kAnyArgs,
                                    "locks of the C++ runtime, such as the first throw's"};
inline constexpr Rule kTime{
    SCMP_SYS(clock_gettime), kAnyArgs, "time",
    Defensive{"the clock is none of user space, such as hpet, or processor time is asked for"}};
inline constexpr Rule kSignalReturns{SCMP_SYS(rt_sigreturn), kAnyArgs,
                                     "return from a signal handler",
                                     Defensive{"a handled signal arrives outside KJ's wait"}};

// abort()
inline constexpr Defensive kAborts{"an invariant is broken and the process aborts"};
inline constexpr Rule kAbortUnblocks{SCMP_SYS(rt_sigprocmask), kAnyArgs,
                                     "abort() unblocks its signal", kAborts};
inline constexpr Rule kAbortNamesProcess{SCMP_SYS(getpid), kAnyArgs,
                                         "abort() names its own process", kAborts};
inline constexpr Rule kAbortEnds{
    SCMP_SYS(tgkill),
    {isOwnPid(0, "process is itself"), intIs(2, SIGABRT, "signal is SIGABRT")},
    "abort() ends its own process",
    kAborts};

}  // namespace vfiogate
