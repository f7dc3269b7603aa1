#pragma once
// What `netd metrics` may ask of the kernel once it is locked down: one thread, the one listener
// that it made before, local sockets to dial plugind. No file, no other listener, no new socket of
// a network, no program, no process.

#include "seccomp/rule.h"
#include "seccomp/shared_rules.h"

#include <seccomp.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <array>

namespace vfiogate {

inline constexpr std::array kNetdMetricsRules{
    // Event loop
    Rule{kLoopWaits, kAnyArgs, "KJ's event loop waits here"},
    Rule{SCMP_SYS(epoll_ctl), kAnyArgs, "watch connections"},
    Rule{SystemCall{SCMP_SYS(rt_sigtimedwait), "KJ 1.1"}, kAnyArgs,
         "KJ's event loop, kept busy, looks for signals"},

    // Connections
    Rule{SCMP_SYS(accept4), kAnyArgs, "clients, on the one listener there is"},
    Rule{SCMP_SYS(socket),
         {intIs(0, AF_UNIX, "domain is AF_UNIX"),
          intIs(1, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                "type is SOCK_STREAM|SOCK_CLOEXEC|SOCK_NONBLOCK"),
          intIs(2, 0, "protocol is none")},
         "dial plugind, again for each question"},
    // A filter does not see the address. New sockets are local ones, but a netd that was taken over
    // could disconnect a client's socket and connect that one anywhere its network lets it.
    Rule{SCMP_SYS(connect), kAnyArgs, "dial plugind"},
    Rule{SCMP_SYS(read), kAnyArgs, "requests, plugind's answers, signals"},
    Rule{SCMP_SYS(write), kAnyArgs, "answers, log"},
    Rule{SCMP_SYS(writev), kAnyArgs, "answers, Cap'n Proto messages"},
    Rule{SystemCall{SCMP_SYS(shutdown), "KJ 0.9"}, kAnyArgs, "hang up on a plugind that hung up"},
    Rule{SCMP_SYS(close), kAnyArgs, "gives descriptors back"},

    // Memory
    Rule{SCMP_SYS(mmap), without(2, PROT_EXEC, "prot without PROT_EXEC"), "large blocks",
         Defensive{"metrics or a request's head are above malloc's mmap threshold"}},
    Rule{SCMP_SYS(munmap), kAnyArgs, "gives large blocks back",
         Defensive{"metrics or a request's head are above malloc's mmap threshold"}},
    kHeap,
    Rule{SCMP_SYS(mremap), kAnyArgs, "realloc of a large block",
         Defensive{"metrics above malloc's mmap threshold grow"}},
    kHeapShrinks,

    // Process
    Rule{SCMP_SYS(exit_group), kAnyArgs, "orderly end"},
    kRuntimeLocks,
    Rule{SCMP_SYS(gettid), kAnyArgs, "log lines"},
    kTime,
    kAbortUnblocks,
    kSignalReturns,
    kAbortNamesProcess,
    kAbortEnds,
};
static_assert(isSound(kNetdMetricsRules));

}  // namespace vfiogate
