#pragma once
// The option --user, the same for the programs that become somebody else.

#include <sys/types.h>

#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace vfiogate {

/// Adds `--user UID[:GID]`; the gid is the uid's where it is not given. Root is refused as both.
void addUserOption(CLI::App& command, const std::string& help,
                   std::function<void(uid_t, gid_t)> take);

}  // namespace vfiogate
