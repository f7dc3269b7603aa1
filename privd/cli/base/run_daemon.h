#pragma once
// `privd serve`: the daemon is a program of its own.

namespace vfiogate {

/// Becomes the daemon, `privd-daemon` beside this program, with these arguments (up to a null).
/// Returns only where that failed: the exit code, after a line on stderr.
int runDaemon(char* const* arguments);

}  // namespace vfiogate
