#pragma once
// What privd's hardware process may ask of the kernel once it is locked down: one thread, reading
// beneath directories that it holds, a local socket. It makes, changes and removes no file.

#include "seccomp/rule.h"
#include "seccomp/shared_rules.h"

#include <fcntl.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <array>

namespace vfiogate {

inline constexpr std::array kHardwareRules{
    // Event loop
    Rule{kLoopWaits, kAnyArgs, "KJ's event loop waits here"},
    Rule{SCMP_SYS(epoll_ctl), kAnyArgs, "watch sockets, uevents, inotify"},
    Rule{SCMP_SYS(inotify_add_watch), kAnyArgs, "the directory of plugind's socket"},
    Rule{SCMP_SYS(inotify_rm_watch), kAnyArgs, "a directory that was renamed away"},

    // sysfs
    Rule{SCMP_SYS(openat2), kAnyArgs, "the only way to open: beneath a held directory"},
    Rule{kFileStatus, kAnyArgs, "kind and number of device nodes"},
    Rule{SCMP_SYS(readlinkat), kAnyArgs, "driver, group and function links"},
    Rule{SCMP_SYS(getdents64), kAnyArgs, "list devices and groups"},
    Rule{SCMP_SYS(read), kAnyArgs, "attributes, inotify, signals, Cap'n Proto messages"},
    Rule{SCMP_SYS(close), kAnyArgs, "gives descriptors back"},
    Rule{SCMP_SYS(fcntl), intIs(1, F_SETFD, "cmd is F_SETFD"),
         "the C library marks a directory that it lists close-on-exec"},
    Rule{SCMP_SYS(fcntl), intIs(1, F_GETFL, "cmd is F_GETFL"),
         "the C library checks a directory before it lists it"},

    // Sockets
    Rule{SCMP_SYS(socket), intIs(0, AF_UNIX, "domain is AF_UNIX"), "dial plugind"},
    Rule{SCMP_SYS(connect), kAnyArgs, "plugind; only local sockets exist"},
    Rule{
        SCMP_SYS(getsockopt),
        {intIs(1, SOL_SOCKET, "level is SOL_SOCKET"), intIs(2, SO_PEERCRED, "name is SO_PEERCRED")},
        "who is at the other end"},
    Rule{SCMP_SYS(sendmsg), kAnyArgs, "says its role to plugind"},
    Rule{SCMP_SYS(recvmsg), kAnyArgs, "uevents with their sender, the end of the daemon"},
    Rule{SCMP_SYS(write), kAnyArgs, "log, Cap'n Proto messages"},
    Rule{SCMP_SYS(writev), kAnyArgs, "Cap'n Proto messages"},
    Rule{SCMP_SYS(shutdown), kAnyArgs, "hang up on a peer"},

    // Memory
    Rule{SCMP_SYS(mmap), without(2, PROT_EXEC, "prot without PROT_EXEC"), "large blocks",
         Defensive{"a snapshot or a message is above malloc's mmap threshold"}},
    Rule{SCMP_SYS(munmap), kAnyArgs, "gives large blocks back",
         Defensive{"a snapshot or a message is above malloc's mmap threshold"}},
    kHeap,
    Rule{SCMP_SYS(mremap), kAnyArgs, "realloc of a large block",
         Defensive{"a block above malloc's mmap threshold grows"}},
    kHeapShrinks,

    // Process
    Rule{SCMP_SYS(exit_group), kAnyArgs, "orderly end"},
    kRuntimeLocks,
    kTime,
    kSignalReturns,
};
static_assert(isSound(kHardwareRules));

}  // namespace vfiogate
