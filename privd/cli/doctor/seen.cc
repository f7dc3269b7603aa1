#include "privd/cli/doctor/seen.h"

#include <system_error>

namespace vfiogate {

std::string whyNot(const std::string& path, int error) {
  return path + ": " + std::generic_category().message(error);
}

}  // namespace vfiogate
