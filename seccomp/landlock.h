#pragma once
// Landlock: which files a process may open from now on, by the place where they are. The seccomp
// filter beside it cannot see a path. What is open already stays as it is.

#include "seccomp/step_failure.h"

#include <cstdint>
#include <optional>
#include <span>

namespace vfiogate {

/// What may be done below a place, in the kernel's numbers (linux/landlock.h). Rights of newer
/// kernels are left out of a rule where the kernel is older, and nothing is ever made executable,
/// linked elsewhere; and only what has kAskDevice is asked with ioctl().
enum PlaceRight : std::uint64_t {
  kWriteFile = 1U << 1,
  kReadFile = 1U << 2,
  kReadDirectory = 1U << 3,
  kRemoveFile = 1U << 5,  ///< also the old name of a file that is renamed
  kMakeFile = 1U << 8,
  kMakeSocket = 1U << 9,
  kTruncate = 1U << 14,  ///< ABI 3
  /// ABI 5: ioctl() on a device. Of whoever opens it: the descriptor keeps it, or the lack of it,
  /// for all that it is handed to.
  kAskDevice = 1U << 15,
};

/// A file or directory, opened at least with O_PATH (borrowed), and a sum of rights.
struct OpenPlace {
  int fd;
  std::uint64_t rights;
};

/// What came of it. With a failure nothing is in force and the process must not go on.
struct Landlocked {
  int abi = 0;      ///< of the kernel, by which this process is confined; 0: it is not
  int whyNone = 0;  ///< errno that says why not
  std::optional<StepFailure> failure = std::nullopt;
};

/// Confines this thread, and all that it makes, for good: below `places` to their rights, and
/// everywhere else to no right that the kernel knows; to no TCP but connections to `dials`, where
/// the kernel judges that (ABI 4); to signals and abstract sockets of its own kind (ABI 6). Sets
/// no_new_privs. What takes no right: stat(), readlink(), watching, connecting to a socket by path.
Landlocked confine(std::span<const OpenPlace> places,
                   std::optional<std::uint16_t> dials = std::nullopt);

/// The kernel's ABI; below 0: it has none or may not be asked, and this is the errno, negated.
int landlockAbi();

}  // namespace vfiogate
