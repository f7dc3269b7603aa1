#pragma once
// What privd's gate may ask of the kernel once it is locked down: one thread, files and sockets in
// directories of the kubelet's and its own. No program, no process, no network, no change of mode
// or owner. Rows for a throw and for abort() are not needed: nothing is caught, and whatever they
// do instead ends the process, too.

#include "seccomp/rule.h"
#include "seccomp/shared_rules.h"

#include <fcntl.h>
#include <seccomp.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <array>

namespace vfiogate {

inline constexpr std::array kGateRules{
    // Loop
    Rule{SCMP_SYS(ppoll), kAnyArgs, "waits here for plugind and the kubelet's files"},
    Rule{SCMP_SYS(inotify_add_watch), kAnyArgs, "directories that come and go"},
    Rule{SCMP_SYS(inotify_rm_watch), kAnyArgs, "a directory that was renamed away"},

    // Files
    Rule{SCMP_SYS(openat2), kAnyArgs,
         "the only way to open: the checkpoint, plugind's configuration, CDI specs, the record of "
         "allocations, plugind's lease"},
    Rule{kFileStatus, kAnyArgs,
         "identity of kubelet, checkpoint and configuration, kind and size of what is opened"},
    Rule{SCMP_SYS(getdents64), kAnyArgs, "list CDI specs, metadata files and exclusions"},
    Rule{SCMP_SYS(fcntl), intIs(1, F_SETFD, "cmd is F_SETFD"),
         "the C library marks a directory that it lists close-on-exec"},
    Rule{SCMP_SYS(fcntl), intIs(1, F_GETFL, "cmd is F_GETFL"),
         "the C library checks a directory before it lists it"},
    Rule{SCMP_SYS(read), kAnyArgs, "inotify, a spec that may be in place already, plugind's lease"},
    Rule{SCMP_SYS(write), kAnyArgs, "log, CDI specs, the record of allocations, plugind's lease"},
    Rule{SCMP_SYS(fsync), kAnyArgs, "a CDI spec is on disk before anybody is told so"},
    Rule{SCMP_SYS(ftruncate), kAnyArgs, "empties the record of a group that is free again"},
    Rule{SCMP_SYS(renameat), kAnyArgs,
         "a new listener or CDI spec takes its name over the old one"},
    Rule{SCMP_SYS(unlinkat), intIs(2, 0, "flags are none, so no directory"),
         "a CDI spec that nobody wants any more, a socket that nobody serves"},
    Rule{SCMP_SYS(flock), intIs(1, LOCK_EX | LOCK_NB, "operation is LOCK_EX|LOCK_NB"),
         "the lease of a plugind that attaches, a group that is allocated, never waiting for it"},
    Rule{SCMP_SYS(close), kAnyArgs, "gives descriptors back"},

    // Sockets
    Rule{SCMP_SYS(socket), intIs(0, AF_UNIX, "domain is AF_UNIX"),
         "dial the kubelet, listen for it"},
    Rule{SCMP_SYS(umask), kAnyArgs, "mode of a socket at bind, instead of chmod"},
    Rule{SCMP_SYS(bind), kAnyArgs, "the plugin's sockets; only local ones exist"},
    Rule{SCMP_SYS(listen), kAnyArgs, "the plugin's sockets"},
    Rule{SCMP_SYS(connect), kAnyArgs, "the kubelet and plugind; only local sockets exist"},
    Rule{
        SCMP_SYS(getsockopt),
        {intIs(1, SOL_SOCKET, "level is SOL_SOCKET"), intIs(2, SO_PEERCRED, "name is SO_PEERCRED")},
        "who listens where plugind or the kubelet is looked for"},
    Rule{SCMP_SYS(socketpair), intIs(0, AF_UNIX, "domain is AF_UNIX"), "a channel for plugind"},
    Rule{SCMP_SYS(recvmsg), kAnyArgs, "requests of plugind"},
    Rule{SCMP_SYS(sendmsg), kAnyArgs,
         "answers to plugind, and its end of the channel, each with at most one descriptor"},

    // Memory
    Rule{SCMP_SYS(mmap), without(2, PROT_EXEC, "prot without PROT_EXEC"), "a request's packet"},
    Rule{SCMP_SYS(munmap), kAnyArgs, "gives it back"},
    kHeap,

    // Process
    Rule{SCMP_SYS(exit_group), kAnyArgs, "orderly end"},
    kTime,
};
static_assert(isSound(kGateRules));

}  // namespace vfiogate
