#pragma once
// What went wrong while a process gave up its power.

#include <cstring>
#include <string>

namespace vfiogate {

/// A step of the lock-down that did not succeed. Whoever gets one ends the process, with exit
/// code 1 and str() on stderr: half locked down is not a state to serve in.
struct [[nodiscard]] StepFailure {
  std::string step;
  int error = 0;  ///< errno, or 0 where `step` says it all

  /// One line for people, the errno in words.
  std::string str() const;
};

inline std::string StepFailure::str() const {
  if (error == 0) return step;
  // Not strerror: it may look for translations, and open files at that.
  const char* words = strerrordesc_np(error);
  return step + ": " + (words != nullptr ? words : "errno " + std::to_string(error));
}

}  // namespace vfiogate
