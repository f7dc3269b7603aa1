#pragma once
// What `policy --self-test` of each program finds: whether its processes can live under their
// filters with this kernel and these libraries.

#include "cli/self_test/watched_child.h"

#include <sys/types.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace vfiogate {

struct SelfTest {
  std::vector<std::string> steps;  ///< those that were begun; where it failed: the last one
  std::string log;                 ///< what the program logged meanwhile
  std::string failure;             ///< for people; empty: all paths were gone to their end
  std::string killedCall;  ///< the first call that a filter killed for; empty: none, or unknown
  long killedNumber = -1;  ///< its number; -1: none
};

/// A directory below the one for temporary files, which goes with it.
class ScratchDirectory {
public:
  /// Throws std::system_error.
  explicit ScratchDirectory(mode_t mode);
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  /// As long as this lives.
  const std::string& path() const { return path_; }

private:
  std::string path_;
};

/// One line on stdout, written at once.
inline void say(const std::string& line) {
  const std::string whole = line + "\n";
  [[maybe_unused]] const ssize_t nobodyMinds = write(STDOUT_FILENO, whole.data(), whole.size());
}

/// A step begins in a child that is watched.
inline void step(const char* name) {
  say(std::string(">") + name);
}

/// Adds how a child ended, and what it said: its steps, its log, and after a "!" why it gave up.
void addEnd(SelfTest& test, const ChildEnd& end);

/// "text", "json" or "yaml". `program`: who can live under its filters, or cannot.
std::string selfTestAs(const std::string& form, const std::string& program, const SelfTest& test);

}  // namespace vfiogate
