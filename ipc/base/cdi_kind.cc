#include "ipc/base/cdi_kind.h"

namespace vfiogate {
namespace {

bool isLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// The runtimes' library panics over a name of one character, and with it the runtime ends (seen
/// with containerd 2.1.9).
bool isName(std::string_view name) {
  return name.size() > 1 && isLetter(name.front());
}

}  // namespace

bool isCdiKind(const ResourceName& resource) {
  const std::string_view vendor = resource.prefix();
  const std::string_view kind = std::string_view(resource.str()).substr(vendor.size() + 1);
  return isName(vendor) && isName(kind) && kind.find('.') == std::string_view::npos;
}

}  // namespace vfiogate
