#pragma once
// What `netd dra` may ask of the kernel once it is locked down: one thread, TCP to the API server,
// a local socket to plugind, reading the token and the certificates where they were replaced. No
// listener, nothing written to a file, no program, no process.

#include "seccomp/rule.h"
#include "seccomp/shared_rules.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <array>

namespace vfiogate {

/// The second of socket(), as KJ gives it.
inline constexpr ArgCheck kNewStream = intIs(1, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                                             "type is SOCK_STREAM|SOCK_CLOEXEC|SOCK_NONBLOCK");

#if defined(__x86_64__)
inline constexpr Rule kConnectionTaken{
    SCMP_SYS(poll),
    {intIs(1, 1, "of one descriptor"), intIs(2, 0, "without waiting")},
    "whether the API server took the connection"};
#else
// How long it may wait lies in memory, where a filter cannot see it.
inline constexpr Rule kConnectionTaken{SCMP_SYS(ppoll), intIs(1, 1, "of one descriptor"),
                                       "whether the API server took the connection"};
#endif

inline constexpr std::array kNetdDraRules{
    // Event loop
    Rule{kLoopWaits, kAnyArgs, "KJ's event loop waits here"},
    Rule{SCMP_SYS(epoll_ctl), kAnyArgs, "watch connections"},

    // Connections
    Rule{SCMP_SYS(socket),
         {intIs(0, AF_UNIX, "domain is AF_UNIX"), kNewStream, intIs(2, 0, "protocol is none")},
         "dial plugind, again when it restarts"},
    Rule{SCMP_SYS(socket),
         {intIs(0, AF_INET, "domain is AF_INET"), kNewStream,
          intIs(2, 0, "protocol is none, so TCP")},
         "dial the API server"},
    Rule{SCMP_SYS(socket),
         {intIs(0, AF_INET6, "domain is AF_INET6"), kNewStream,
          intIs(2, 0, "protocol is none, so TCP")},
         "dial the API server",
         Defensive{"the API server has an IPv6 address"}},
    Rule{SCMP_SYS(setsockopt),
         {intIs(1, IPPROTO_TCP, "level is IPPROTO_TCP"),
          intIs(2, TCP_NODELAY, "name is TCP_NODELAY")},
         "requests go out at once"},
    Rule{SCMP_SYS(setsockopt),
         {intIs(1, SOL_SOCKET, "level is SOL_SOCKET"),
          intIs(2, SO_KEEPALIVE, "name is SO_KEEPALIVE")},
         "notice that the API server vanished"},
    Rule{SCMP_SYS(setsockopt),
         {intIs(1, IPPROTO_TCP, "level is IPPROTO_TCP"),
          intIs(2, TCP_KEEPIDLE, "name is TCP_KEEPIDLE")},
         "the same, within two minutes"},
    Rule{SCMP_SYS(setsockopt),
         {intIs(1, IPPROTO_TCP, "level is IPPROTO_TCP"),
          intIs(2, TCP_KEEPINTVL, "name is TCP_KEEPINTVL")},
         "the same, within two minutes"},
    // A filter does not see the address: where this may reach is for a network policy.
    Rule{SCMP_SYS(connect), kAnyArgs, "dial plugind and the API server"},
    kConnectionTaken,
    Rule{SCMP_SYS(getsockopt),
         {intIs(1, SOL_SOCKET, "level is SOL_SOCKET"), intIs(2, SO_ERROR, "name is SO_ERROR")},
         "whether the API server took the connection"},
    Rule{SCMP_SYS(read), kAnyArgs, "answers, plugind's questions, token, signals"},
    Rule{SCMP_SYS(write), kAnyArgs, "requests, log"},
    Rule{SCMP_SYS(writev), kAnyArgs, "requests, Cap'n Proto messages"},
    Rule{SCMP_SYS(shutdown), kAnyArgs, "hang up on a plugind that hung up",
         Defensive{"plugind ended its side, and still reads"}},
    Rule{SCMP_SYS(close), kAnyArgs, "gives descriptors back"},

    // Files: the kubelet replaces the token about once an hour, and the certificates when the
    // cluster's authority changes.
    Rule{kFileStatus, kAnyArgs, "whether token and certificates were replaced"},
    Rule{SCMP_SYS(openat),
         intIs(2, O_RDONLY | O_NONBLOCK | O_CLOEXEC, "flags are O_NONBLOCK|O_CLOEXEC, so reading"),
         "token and certificates, where they were replaced"},

    // Memory
    Rule{SCMP_SYS(mmap), without(2, PROT_EXEC, "prot without PROT_EXEC"), "large blocks",
         Defensive{"a pool, or an answer, is above malloc's mmap threshold"}},
    Rule{SCMP_SYS(munmap), kAnyArgs, "gives large blocks back",
         Defensive{"a pool, or an answer, is above malloc's mmap threshold"}},
    kHeap,
    Rule{SCMP_SYS(mremap), kAnyArgs, "realloc of a large block",
         Defensive{"an answer above malloc's mmap threshold grows"}},
    kHeapShrinks,

    // Process
    Rule{SCMP_SYS(exit_group), kAnyArgs, "orderly end"},
    kRuntimeLocks,
    Rule{SCMP_SYS(gettid), kAnyArgs, "log lines"},
    Rule{SCMP_SYS(getpid), kAnyArgs, "OpenSSL's random numbers are not those of a fork"},
    Rule{SCMP_SYS(getrandom), kAnyArgs, "OpenSSL's random numbers",
         Defensive{"an hour has passed, and they are seeded anew"}},
    kTime,
    kAbortUnblocks,
    kSignalReturns,
    kAbortEnds,
};
static_assert(isSound(kNetdDraRules));

}  // namespace vfiogate
