#include "privd/cli/doctor/finding.h"

namespace vfiogate {

static_assert(kCheckNames.size() == static_cast<std::size_t>(Check::kVirtualFunctions) + 1);

std::string_view nameOf(Level level) {
  switch (level) {
    case Level::kOk:
      return "ok";
    case Level::kInfo:
      return "info";
    case Level::kUnknown:
      return "unknown";
    case Level::kWarning:
      return "warning";
    case Level::kProblem:
      return "problem";
  }
  return "unknown";
}

std::string_view codeOf(Check check) {
  return kCheckNames.at(static_cast<std::size_t>(check)).code;
}

}  // namespace vfiogate
