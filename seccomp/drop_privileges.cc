#include "seccomp/drop_privileges.h"

#include "seccomp/sanitizer_rules.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

namespace vfiogate {
namespace {

constexpr const char* kThreadBefore =
    "dropping privileges: a thread was started before, and would keep its power";
using Outcome = std::optional<StepFailure>;
using CapabilitySets = std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3>;

Outcome check(bool succeeded, std::string step) {
  if (succeeded) return std::nullopt;
  return StepFailure{std::move(step), errno};
}

/// For what the kernel accepted and then does not show.
Outcome demand(bool met, const std::string& step) {
  if (met) return std::nullopt;
  return StepFailure{step + ": it had no effect"};
}

Outcome closeStrayDescriptors(std::span<const int> keep) {
  std::vector<unsigned> kept{0, 1, 2};
  for (const int fd : keep) kept.push_back(static_cast<unsigned>(fd));
  std::ranges::sort(kept);
  unsigned next = 0;
  for (const unsigned fd : kept) {
    if (fd > next && close_range(next, fd - 1, 0) != 0) break;
    next = fd + 1;
  }
  return check(close_range(next, ~0U, 0) == 0, "closing stray descriptors");
}

Outcome settleStandardDescriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    // Takes the lowest free number, which is this one. Not close-on-exec: 1 and 2 never are.
    // NOLINTNEXTLINE(android-cloexec-open)
    if (open("/dev/null", O_RDWR) != fd) return check(false, "opening /dev/null");
  }
  std::array<int, 2> ended{};
  if (pipe2(ended.data(), O_CLOEXEC) != 0) return check(false, "ending standard input");
  const bool replaced = dup3(ended[0], STDIN_FILENO, O_CLOEXEC) == STDIN_FILENO;
  const Outcome outcome = check(replaced, "ending standard input");
  close(ended[0]);
  close(ended[1]);
  return outcome;
}

Outcome forbidCores() {
  const rlimit noCore{.rlim_cur = 0, .rlim_max = 0};
  return check(setrlimit(RLIMIT_CORE, &noCore) == 0, "forbidding core dumps");
}

/// Calls `act` for each capability that this kernel knows, until it returns false. False, too, if
/// the kernel does not say which.
template <typename Act>
bool forEachCapability(Act act) {
  for (int capability = 0; capability < 64; ++capability) {
    const int held = prctl(PR_CAPBSET_READ, capability, 0, 0, 0);
    if (held < 0) return errno == EINVAL;  // past the last one
    if (!act(capability, held == 1)) return false;
  }
  return true;
}

Outcome emptyBoundingAndAmbientSets() {
  const bool dropped = forEachCapability([](int capability, bool held) {
    // Without CAP_SETPCAP it stays; no_new_privs makes that harmless.
    return !held || prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0 || errno == EPERM;
  });
  if (!dropped) return check(false, "emptying the capability bounding set");
  return check(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == 0,
               "emptying the ambient capabilities");
}

Outcome takeIdentity(const Identity& identity) {
  // Each only where it changes something: it needs no capability then.
  if (getgroups(0, nullptr) != 0 && setgroups(0, nullptr) != 0) {
    return check(false, "dropping supplementary groups");
  }
  if (setresgid(identity.gid, identity.gid, identity.gid) != 0) {
    return check(false, "becoming gid " + std::to_string(identity.gid));
  }
  return check(setresuid(identity.uid, identity.uid, identity.uid) == 0,
               "becoming uid " + std::to_string(identity.uid));
}

bool setCapabilities(const CapabilitySets& sets) {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  return syscall(SYS_capset, &header, sets.data()) == 0;
}

/// The sets with one permitted.
CapabilitySets permitted(int capability) {
  CapabilitySets sets{};
  const auto number = static_cast<unsigned>(capability);
  sets.at(number / 32).permitted = 1U << (number % 32);
  return sets;
}

Outcome forbidWaysBack() {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return check(false, "setting no_new_privs");
  return check(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0, "forbidding dumps and ptrace");
}

Outcome verifyCapabilities(const CapabilitySets& kept) {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  CapabilitySets sets{};
  if (syscall(SYS_capget, &header, sets.data()) != 0) return check(false, "reading capabilities");
  const bool rest = std::ranges::equal(sets, kept, [](const auto& set, const auto& keeps) {
    return set.effective == 0 && set.permitted == keeps.permitted && set.inheritable == 0;
  });
  if (!rest) return demand(false, "emptying the capabilities");
  const bool noAmbient = forEachCapability([](int capability, bool) {
    return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, capability, 0, 0) == 0;
  });
  return demand(noAmbient, "emptying the ambient capabilities");
}

Outcome verifyIdentity(const Identity& identity) {
  uid_t real = 0;
  uid_t effective = 0;
  uid_t saved = 0;
  const bool uids = getresuid(&real, &effective, &saved) == 0 && real == identity.uid &&
                    effective == identity.uid && saved == identity.uid;
  if (!uids) return demand(false, "becoming uid " + std::to_string(identity.uid));
  const bool gids = getresgid(&real, &effective, &saved) == 0 && real == identity.gid &&
                    effective == identity.gid && saved == identity.gid;
  if (!gids) return demand(false, "becoming gid " + std::to_string(identity.gid));
  return demand(getgroups(0, nullptr) == 0, "dropping supplementary groups");
}

/// What comes before the change of user.
Outcome beginDrop(std::span<const int> keep) {
  if (!isSingleThreaded()) return StepFailure{kThreadBefore};
  if (auto failed = closeStrayDescriptors(keep)) return failed;
  if (auto failed = settleStandardDescriptors()) return failed;
  if (auto failed = forbidCores()) return failed;
  return emptyBoundingAndAmbientSets();
}

/// What comes behind it. All but the user is read back.
Outcome endDrop(const CapabilitySets& kept = {}) {
  if (!setCapabilities(kept)) return check(false, "emptying the capabilities");
  if (auto failed = forbidWaysBack()) return failed;
  if (auto failed = verifyCapabilities(kept)) return failed;
  if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) return demand(false, "setting no_new_privs");
  return demand(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0, "forbidding dumps and ptrace");
}

}  // namespace

Outcome dropPrivilegesAsIs(std::span<const int> descriptors) {
  if (auto failed = beginDrop(descriptors)) return failed;
  return endDrop();
}

Outcome dropPrivilegesBut(int capability, std::span<const int> descriptors) {
  if (auto failed = beginDrop(descriptors)) return failed;
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  CapabilitySets held{};
  if (syscall(SYS_capget, &header, held.data()) != 0) return check(false, "reading capabilities");
  CapabilitySets kept = permitted(capability);
  for (std::size_t i = 0; i < kept.size(); ++i) kept[i].permitted &= held[i].permitted;
  return endDrop(kept);
}

bool raiseCapability(int capability, bool raised) {
  CapabilitySets sets = permitted(capability);
  for (auto& set : sets) set.effective = raised ? set.permitted : 0;
  return setCapabilities(sets);
}

Outcome dropPrivileges(const Remaining& remaining) {
  if (!remaining.identity) return dropPrivilegesAsIs(remaining.descriptors);
  if (auto failed = beginDrop(remaining.descriptors)) return failed;
  if (auto failed = takeIdentity(*remaining.identity)) return failed;
  if (auto failed = endDrop()) return failed;
  return verifyIdentity(*remaining.identity);
}

}  // namespace vfiogate
