#include "plugind/core/dra/device_name.h"

#include "ipc/types/claim_spec.h"

namespace vfiogate {

std::string deviceName(const Bdf& address) {
  return addressWith('-', address);
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
