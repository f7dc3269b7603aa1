#include "seccomp/step_failure.h"

#include <cstring>

namespace vfiogate {

std::string StepFailure::str() const {
  if (error == 0) return step;
  // Not strerror: it may look for translations, and open files at that.
  const char* words = strerrordesc_np(error);
  return step + ": " + (words != nullptr ? words : "errno " + std::to_string(error));
}

}  // namespace vfiogate
