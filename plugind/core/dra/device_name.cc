#include "plugind/core/dra/device_name.h"

#include <algorithm>

namespace vfiogate {

std::string deviceName(const Bdf& address) {
  std::string name = address.str();
  std::ranges::replace(name, ':', '-');
  std::ranges::replace(name, '.', '-');
  return name;
}

std::optional<Bdf> deviceAddress(std::string_view name) {
  constexpr std::size_t kAfterSegment = 8;  // "-17-00-0"
  if (name.size() <= kAfterSegment) return std::nullopt;
  std::string text(name);
  const std::size_t segment = text.size() - kAfterSegment;
  text[segment] = text[segment + 3] = ':';
  text[segment + 6] = '.';
  const auto address = Bdf::parse(text);
  if (!address || deviceName(*address) != name) return std::nullopt;
  return *address;
}

}  // namespace vfiogate
