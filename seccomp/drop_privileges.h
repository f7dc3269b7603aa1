#pragma once
// What both daemons give up before they listen: descriptors, ids, capabilities, and the ways back.

#include "seccomp/step_failure.h"

#include <sys/types.h>

#include <optional>
#include <span>

namespace vfiogate {

/// Whom to become.
struct Identity {
  uid_t uid;
  gid_t gid;
};

/// What to keep; everything not named here goes.
struct Remaining {
  /// Descriptors to keep beside 1 and 2 (borrowed), in any order.
  std::span<const int> descriptors{};
  /// Ids to take, without supplementary groups. None: ids and groups stay as they are.
  std::optional<Identity> identity = std::nullopt;
};

/// Drops power for good, in this order; read back at the end. Giving up what one does not have is
/// no error, so it works for root, for root without capabilities (a pod with drop ALL), and for
/// any other user who is already the one to become.
///
/// 1. one thread only: ids and capabilities belong to threads, a second one would keep its own
/// 2. stray descriptors closed, first of all, so that nothing below can hand one on
/// 3. descriptor 0 becomes an ended pipe: no file, and nobody's terminal. 1 and 2 stay what they
///    are (regular files if the starter redirected them there); if closed they become /dev/null,
///    else the next socket would take their number and get the log
/// 4. no core dumps (resource_limits.h has the other limits)
/// 5. capability bounding set and ambient set emptied, while CAP_SETPCAP is still there
/// 6. groups, then gid, then uid: each needs a capability that the next one takes away
/// 7. permitted, effective and inheritable capabilities emptied (a change from root to root keeps
///    them, and so does root)
/// 8. no_new_privs, so that no exec gives any of it back, whatever the bounding set still holds
///    where the starter left one without the capability to empty it
/// 9. not dumpable, last, since a change of ids resets it: no ptrace, no /proc/<pid>/mem
///
/// The seccomp filter (load_filter.h) comes after all this, since it forbids it.
std::optional<StepFailure> dropPrivileges(const Remaining& remaining);

/// The same without step 6, for who stays the user that it is, as privd's processes do: they have
/// no code for it. `descriptors` as in Remaining.
std::optional<StepFailure> dropPrivilegesAsIs(std::span<const int> descriptors);

/// The same but for one capability (linux/capability.h), which stays permitted, and in force only
/// while raiseCapability() says so. Where the starter does not give it there is none to raise.
std::optional<StepFailure> dropPrivilegesBut(int capability, std::span<const int> descriptors);
/// Puts the one that was kept in force, or out of it. False: it stays as it was, by errno.
bool raiseCapability(int capability, bool raised);

}  // namespace vfiogate
