#include "ipc/types/bdf.h"

#include "ipc/base/hex.h"

namespace vfiogate {

Result<Bdf, ParseError> Bdf::parse(std::string_view text) {
  // The tail ":bb:dd.f" has a fixed length; what is before it is the segment.
  constexpr std::size_t kTail = 8;
  if (text.size() < 4 + kTail || text.size() > 8 + kTail) return Failure{ParseError::kWrongShape};
  const std::string_view tail = text.substr(text.size() - kTail);
  if (tail[0] != ':' || tail[3] != ':' || tail[6] != '.') return Failure{ParseError::kWrongShape};
  const auto segment = parseHexDigits(text.substr(0, text.size() - kTail), text.size() - kTail);
  const auto bus = parseHexDigits(tail.substr(1, 2), 2);
  const auto device = parseHexDigits(tail.substr(4, 2), 2);
  const auto function = parseHexDigits(tail.substr(7, 1), 1);
  if (!segment || !bus || !device || !function) return Failure{ParseError::kWrongShape};
  return make(*segment, static_cast<std::uint8_t>(*bus), static_cast<std::uint8_t>(*device),
              static_cast<std::uint8_t>(*function));
}

Result<Bdf, ParseError> Bdf::make(std::uint32_t segment, std::uint8_t bus, std::uint8_t device,
                                  std::uint8_t function) {
  if (device > 31 || function > 7) return Failure{ParseError::kOutOfRange};
  return Bdf(segment, bus, device, function);
}

std::string Bdf::str() const {
  int segmentDigits = 4;
  while (segmentDigits < 8 && (segment_ >> (4 * segmentDigits)) != 0) ++segmentDigits;
  return hexDigits(segment_, segmentDigits) + ":" + hexDigits(bus_, 2) + ":" +
         hexDigits(device_, 2) + "." + hexDigits(function_, 1);
}

}  // namespace vfiogate
