#pragma once
// The names of all options that privd's programs have, in its file of options.

#include <array>
#include <string_view>

namespace vfiogate {

/// One file serves all of privd's programs: each takes its own, and leaves out what is another's.
inline constexpr std::array<std::string_view, 28> kOptionsOfPrivd{"--allow",
                                                                  "--allow-storage",
                                                                  "--allow-unguarded-unbind",
                                                                  "--audit-log",
                                                                  "--cdi-dir",
                                                                  "--declare",
                                                                  "--deny",
                                                                  "--dev",
                                                                  "--dra-driver",
                                                                  "--hardware-uid",
                                                                  "--host-mountinfo",
                                                                  "--host-route",
                                                                  "--kubelet-dir",
                                                                  "--log-format",
                                                                  "--module-aliases",
                                                                  "--override",
                                                                  "--plugind",
                                                                  "--plugind-config",
                                                                  "--plugind-rights",
                                                                  "--plugind-uid",
                                                                  "--record-dir",
                                                                  "--require-landlock",
                                                                  "--rescan",
                                                                  "--resource-prefix",
                                                                  "--state-dir",
                                                                  "--sysfs",
                                                                  "--uevents",
                                                                  "--vfs"};

}  // namespace vfiogate
