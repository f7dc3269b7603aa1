#include "seccomp/resource_limits.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>
#include <utility>

namespace vfiogate {
namespace {

#ifdef VFIOGATE_SANITIZED
constexpr bool kShadowMemory = true;  // terabytes of it
#else
constexpr bool kShadowMemory = false;
#endif

struct Kind {
  const char* what;
  __rlimit_resource resource;
  std::uint64_t wanted;
};

/// What the process says last. Never freed: somebody may find no memory while the program ends.
struct LastWords {
  std::string line;
  void (*stamp)(std::string& line, WallTime now) = nullptr;
};
LastWords& lastWords() {
  static auto* const words = new LastWords;
  return *words;
}

}  // namespace

std::optional<StepFailure> limitResources(const ResourceLimits& limits,
                                          const std::function<void(const LowerLimit&)>& tell) {
  const std::array kinds{
      Kind{"descriptors", RLIMIT_NOFILE, limits.descriptors},
      Kind{"memory", RLIMIT_DATA, kShadowMemory ? 0 : limits.memory},
  };
  for (const Kind& kind : kinds) {
    if (kind.wanted == 0) continue;
    rlimit found{};
    const bool read = getrlimit(kind.resource, &found) == 0;
    const rlim_t allowed = std::min<rlim_t>(kind.wanted, found.rlim_max);
    const rlimit ours{.rlim_cur = allowed, .rlim_max = allowed};
    if (!read || setrlimit(kind.resource, &ours) != 0) {
      return StepFailure{std::string("limiting ") + kind.what, errno};
    }
    if (allowed < kind.wanted) tell({kind.what, kind.wanted, allowed});
  }
  return std::nullopt;
}

void endWithoutMemory(std::string line, void (*stamp)(std::string&, WallTime)) {
  lastWords() = {std::move(line), stamp};
  std::set_new_handler([] {
    auto& [words, giveTime] = lastWords();
    giveTime(words, std::chrono::system_clock::now());
    [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, words.data(), words.size());
    _exit(1);
  });
}

}  // namespace vfiogate
