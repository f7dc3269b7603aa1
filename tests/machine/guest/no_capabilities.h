#pragma once
// Giving up all capabilities for good.

#include <string>

namespace vfiogate::machine {

/// Empties all capability sets and the bounding set, locks the secure bits, sets no_new_privs: uid
/// 0 is then a user like any other who owns root's files. Empty, or what failed.
std::string dropCapabilities();

}  // namespace vfiogate::machine
