#pragma once
// What privd's daemon may ask of the kernel once it has started the others: it waits for their ends
// and its own.

#include "seccomp/rule.h"
#include "seccomp/shared_rules.h"

#include <seccomp.h>
#include <sys/socket.h>

#include <array>

namespace vfiogate {

inline constexpr std::array kDaemonRules{
    Rule{SCMP_SYS(ppoll), kAnyArgs, "waits here for the end of a process, and signals"},
    Rule{SCMP_SYS(read), kAnyArgs, "that a process serves or has ended, signals"},
    Rule{SCMP_SYS(write), kAnyArgs, "log"},
    Rule{SCMP_SYS(shutdown), intIs(1, SHUT_WR, "how is SHUT_WR"), "a process is to end"},
    Rule{SCMP_SYS(close), kAnyArgs, "gives descriptors back"},
    Rule{SCMP_SYS(exit_group), kAnyArgs, "orderly end"},
    kHeap,
    kTime,
};
static_assert(isSound(kDaemonRules));

}  // namespace vfiogate
