#pragma once
// What privd's binder may ask of the kernel once it is locked down: one thread, files beneath
// directories that it holds, a local socket. No program, no process, no network, no change of mode
// or owner. Rows for abort() are not needed: whatever that does instead ends the process, too.

#include "seccomp/rule.h"
#include "seccomp/shared_rules.h"

#include <fcntl.h>
#include <seccomp.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <array>

namespace vfiogate {

inline constexpr std::array kBinderRules{
    // Event loop
    Rule{kLoopWaits, kAnyArgs, "KJ's event loop waits here"},
    Rule{SCMP_SYS(epoll_ctl), kAnyArgs, "watch sockets, uevents, inotify"},
    Rule{SCMP_SYS(inotify_add_watch), kAnyArgs,
         "directories of plugind's socket and of operators' exclusions"},

    // Trees: sysfs, state, the audit log
    Rule{SCMP_SYS(openat2), kAnyArgs,
         "the only way to open: beneath a held directory, the audit log"},
    Rule{kFileStatus, kAnyArgs,
         "kind and number of device nodes, identity of the audit log and of directories"},
    Rule{SCMP_SYS(readlinkat), kAnyArgs, "driver, group and function links"},
    Rule{SCMP_SYS(getdents64), kAnyArgs, "list devices and groups"},
    Rule{SCMP_SYS(read), kAnyArgs, "attributes, inotify, signals, that there are uevents"},
    Rule{SCMP_SYS(renameat), kAnyArgs,
         "a record takes its name over the old one, the audit log is rotated"},
    Rule{SCMP_SYS(fsync), kAnyArgs, "an audit record is on disk before it is acted upon"},
    Rule{SCMP_SYS(fstatfs), kAnyArgs, "room for the audit log before a peer's order"},
    Rule{SCMP_SYS(ftruncate), kAnyArgs, "takes a part of an audit record back",
         Defensive{"a record is not written whole, as on a full disk"}},
    Rule{SCMP_SYS(unlinkat), intIs(2, 0, "flags are none, so no directory"),
         "a record of a binding that is over"},
    Rule{SCMP_SYS(inotify_rm_watch), kAnyArgs, "a directory that was renamed away"},
    Rule{SCMP_SYS(flock), intIs(1, LOCK_EX | LOCK_NB, "operation is LOCK_EX|LOCK_NB"),
         "whether a plugind has its lease, a group whose drivers change, never waiting for it"},
    Rule{SCMP_SYS(flock), intIs(1, LOCK_UN, "operation is LOCK_UN"),
         "a group whose drivers were changed, whoever has its locks' descriptors still"},

    // Sockets
    Rule{SCMP_SYS(socket), intIs(0, AF_UNIX, "domain is AF_UNIX"), "dial plugind"},
    Rule{SCMP_SYS(socketpair), intIs(0, AF_UNIX, "domain is AF_UNIX"),
         "the channel of a new connection, the answer to a write"},
    Rule{SCMP_SYS(connect), kAnyArgs, "plugind; only local sockets exist"},
    Rule{SCMP_SYS(recvmsg), kAnyArgs,
         "orders of plugind, the answer to a write, the end of the daemon"},
    Rule{SCMP_SYS(sendmsg), kAnyArgs,
         "answers to plugind, its end of the channel, descriptors to the fork server"},
    Rule{SCMP_SYS(write), kAnyArgs, "log, records of bindings and of the audit log"},
    Rule{
        SCMP_SYS(getsockopt),
        {intIs(1, SOL_SOCKET, "level is SOL_SOCKET"), intIs(2, SO_PEERCRED, "name is SO_PEERCRED")},
        "who is at the other end"},
    Rule{SCMP_SYS(close), kAnyArgs, "gives descriptors back"},
    Rule{SCMP_SYS(fcntl), intIs(1, F_SETFD, "cmd is F_SETFD"),
         "the C library marks a directory that it lists close-on-exec"},
    Rule{SCMP_SYS(fcntl), intIs(1, F_GETFL, "cmd is F_GETFL"),
         "the C library checks a directory before it lists it"},

    // Memory
    Rule{SCMP_SYS(mmap), without(2, PROT_EXEC, "prot without PROT_EXEC"), "large blocks",
         Defensive{"a snapshot is above malloc's mmap threshold"}},
    Rule{SCMP_SYS(munmap), kAnyArgs, "gives large blocks back",
         Defensive{"a snapshot is above malloc's mmap threshold"}},
    kHeap,
    Rule{SCMP_SYS(mremap), kAnyArgs, "realloc of a large block",
         Defensive{"a block above malloc's mmap threshold grows"}},
    kHeapShrinks,

    // Process
    Rule{SCMP_SYS(exit_group), kAnyArgs, "orderly end"},
    Rule{SCMP_SYS(futex), kAnyArgs, "locks of the C++ runtime at the first throw",
         Defensive{"something throws; it is caught where sysfs is read"}},
    kTime,
    kSignalReturns,
};
static_assert(isSound(kBinderRules));

}  // namespace vfiogate
