#include "ipc/types/cdi_kind.h"

namespace vfiogate {
namespace {

bool isLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

}  // namespace

bool isCdiKind(const ResourceName& resource) {
  const std::string_view vendor = resource.prefix();
  const std::string_view kind = std::string_view(resource.str()).substr(vendor.size() + 1);
  return isLetter(vendor.front()) && isLetter(kind.front()) &&
         kind.find('.') == std::string_view::npos;
}

}  // namespace vfiogate
