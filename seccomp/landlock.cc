#include "seccomp/landlock.h"

#include "seccomp/sanitizer_rules.h"

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace vfiogate {
namespace {

// As in linux/landlock.h, of which the build's may be older than the kernel.
constexpr unsigned kAskVersion = 1;
constexpr int kRuleOfAPath = 1;
constexpr int kRuleOfAPort = 2;
constexpr std::uint64_t kConnectTcp = 2;
constexpr std::uint64_t kAllTcp = 3;
constexpr std::uint64_t kAllScopes = 3;
constexpr std::uint64_t kRightsOfFiles = kWriteFile | kReadFile | kTruncate | kAskDevice;

/// Older kernels take the longer form as long as what they do not know is 0.
struct Ruleset {
  std::uint64_t files;
  std::uint64_t network;
  std::uint64_t scopes;
};

struct [[gnu::packed]] PathRule {
  std::uint64_t rights;
  std::int32_t place;
};

struct PortRule {
  std::uint64_t rights;
  std::uint64_t port;
};

/// Everything of files that the ABI knows.
std::uint64_t fileRights(int abi) {
  if (abi >= 5) return 0xffff;
  if (abi >= 3) return 0x7fff;
  return abi == 2 ? 0x3fff : 0x1fff;
}

/// 0, or -1 with errno.
long addPlace(int ruleset, const OpenPlace& place, std::uint64_t known) {
  struct stat status = {};
  if (fstat(place.fd, &status) != 0) return -1;
  const std::uint64_t fitting = S_ISDIR(status.st_mode) ? known : known & kRightsOfFiles;
  const PathRule rule{place.rights & fitting, place.fd};
  return syscall(SYS_landlock_add_rule, ruleset, kRuleOfAPath, &rule, 0);
}

/// Null, or which step failed, with errno.
const char* restrict(int ruleset, int abi, std::span<const OpenPlace> places,
                     std::optional<std::uint16_t> dials) {
  for (const OpenPlace& place : places) {
    if (addPlace(ruleset, place, fileRights(abi)) != 0) return "a rule of Landlock";
  }
  const PortRule port{kConnectTcp, dials.value_or(0)};
  if (dials && abi >= 4 && syscall(SYS_landlock_add_rule, ruleset, kRuleOfAPort, &port, 0) != 0) {
    return "Landlock's rule of a port";
  }
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return "no_new_privs";
  return syscall(SYS_landlock_restrict_self, ruleset, 0) == 0 ? nullptr : "Landlock";
}

}  // namespace

int landlockAbi() {
  const long abi = syscall(SYS_landlock_create_ruleset, nullptr, 0, kAskVersion);
  return abi < 0 ? -errno : static_cast<int>(abi);
}

Landlocked confine(std::span<const OpenPlace> places, std::optional<std::uint16_t> dials) {
  const int abi = landlockAbi();
  if (abi <= 0) return {.whyNone = -abi};
  prepareSanitizers();
  const Ruleset handled{fileRights(abi), abi >= 4 ? kAllTcp : 0, abi >= 6 ? kAllScopes : 0};
  const long made = syscall(SYS_landlock_create_ruleset, &handled, sizeof(handled), 0);
  if (made < 0) return {.failure = StepFailure{"Landlock's ruleset", errno}};
  const char* failed = restrict(static_cast<int>(made), abi, places, dials);
  const int error = errno;
  close(static_cast<int>(made));
  if (failed != nullptr) return {.failure = StepFailure{failed, error}};
  return {.abi = abi};
}

}  // namespace vfiogate
