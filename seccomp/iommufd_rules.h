#pragma once
// What privd's iommufd process may ask of the kernel once it is locked down: it opens one device,
// says how that counts memory, and hands it over. Rows for a throw and for abort() are not needed:
// nothing is caught, and whatever they do instead ends the process, too.

#include "seccomp/rule.h"
#include "seccomp/shared_rules.h"

#include <seccomp.h>

#include <array>

namespace vfiogate {

/// ioctl's request that says how an iommufd counts memory: IOMMU_OPTION of linux/iommufd.h.
inline constexpr unsigned kIommuOption = 0x3b87;

inline constexpr std::array kIommufdRules{
    // Loop
    Rule{SCMP_SYS(ppoll), kAnyArgs, "waits here for launchers and their replies"},
    Rule{SCMP_SYS(accept4), kAnyArgs, "a launcher connects; the only sockets are local"},
    Rule{SCMP_SYS(read), kAnyArgs, "a launcher's reply"},
    Rule{SCMP_SYS(sendmsg), kAnyArgs, "hands a launcher its descriptor"},
    Rule{SCMP_SYS(close), kAnyArgs, "gives descriptors back"},

    // The device
    Rule{SCMP_SYS(openat2), kAnyArgs, "the only way to open: /dev/iommu"},
    Rule{SCMP_SYS(capset), kAnyArgs,
         "CAP_SYS_RESOURCE, the only one it has, is in force for the next call alone"},
    Rule{SCMP_SYS(ioctl), intIs(1, kIommuOption, "request is IOMMU_OPTION"),
         "an iommufd counts the memory of a process, not of a user"},

    // Process
    Rule{SCMP_SYS(write), kAnyArgs, "log"},
    Rule{SCMP_SYS(exit_group), kAnyArgs, "orderly end"},
    kHeap,
    kTime,
};
static_assert(isSound(kIommufdRules));

}  // namespace vfiogate
