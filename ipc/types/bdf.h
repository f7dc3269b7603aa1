#pragma once
// One PCI function's address.

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "ipc/base/result.h"

namespace vfiogate {

enum class ParseError : std::uint8_t { kWrongShape, kOutOfRange };

/// One PCI function's address. Always in range: parse() and make() are the only ways in.
class Bdf {
public:
  /// Reads the kernel's spelling, "0000:3b:00.1" (segment:bus:device.function, hex, either case;
  /// a segment has 4 to 8 digits: VMD bridges make segments above 16 bit).
  /// Errors: kWrongShape; kOutOfRange if device > 31 or function > 7.
  /// Source: names in /sys/bus/pci/devices.
  static Result<Bdf, ParseError> parse(std::string_view text);

  /// Error: kOutOfRange if device > 31 or function > 7.
  static Result<Bdf, ParseError> make(std::uint32_t segment, std::uint8_t bus, std::uint8_t device,
                                      std::uint8_t function);

  /// The kernel's spelling, lower case; the key under which sysfs and the kubelet know the device.
  std::string str() const;

  std::uint32_t segment() const { return segment_; }
  std::uint8_t bus() const { return bus_; }
  std::uint8_t device() const { return device_; }
  std::uint8_t function() const { return function_; }

  friend auto operator<=>(const Bdf&, const Bdf&) = default;

private:
  Bdf(std::uint32_t segment, std::uint8_t bus, std::uint8_t device, std::uint8_t function)
      : segment_(segment), bus_(bus), device_(device), function_(function) {}

  std::uint32_t segment_;
  std::uint8_t bus_;
  std::uint8_t device_;
  std::uint8_t function_;
};

}  // namespace vfiogate
