#pragma once
// What privd's fork server may ask of the kernel, and the child that it makes for each write into
// sysfs or read of it: the power to do so lies in descriptors that privd hands over. A row for
// abort() is not needed: whatever that does instead ends the process, too.

#include "seccomp/rule.h"

#include <seccomp.h>

#include <array>
#include <csignal>

namespace vfiogate {

inline constexpr std::array kForkServerRules{
    Rule{SCMP_SYS(recvmsg), kAnyArgs, "requests of privd, each with its descriptors"},
    Rule{SCMP_SYS(clone), intIs(0, SIGCHLD, "flags are SIGCHLD"),
         "a child for each write or read: a process, without any namespace, sharing nothing"},
    Rule{SCMP_SYS(write), kAnyArgs, "the child writes the attribute, and its answer"},
    Rule{SCMP_SYS(read), kAnyArgs, "the child reads a card's vital product data"},
    Rule{SCMP_SYS(close), kAnyArgs, "gives a request's descriptors back"},
    Rule{SCMP_SYS(exit_group), kAnyArgs, "the child has answered, or privd has ended"},
    Rule{SCMP_SYS(brk), kAnyArgs, "the filter's description is given back once it is in force",
         Defensive{"the heap shrinks by that"}},
};
static_assert(isSound(kForkServerRules));

}  // namespace vfiogate
