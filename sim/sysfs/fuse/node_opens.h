#pragma once
// What the host's kernel tells of processes that open files, for nodes whose openers FUSE never
// hears of.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace vfiogate::sim {

/// The flags with which this thread, which waits for the file system now, opens a file. Null: it
/// does something else, or opens with O_PATH, or that cannot be told (which takes CAP_SYS_PTRACE).
std::optional<std::uint64_t> openFlags(pid_t thread);

/// Whether any process has `path` open, other than with O_PATH. `path` is absolute, and looks the
/// same from there.
bool isOpenAnywhere(const std::string& path);

}  // namespace vfiogate::sim
