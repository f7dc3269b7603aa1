#pragma once
// What a unit of allocation is called: a PCI function by its address, a mediated device by its
// UUID.

#include <compare>
#include <cstddef>
#include <string>
#include <string_view>
#include <variant>

#include "ipc/types/bdf.h"

namespace vfiogate {

/// The UUID of a mediated device.
class Uuid {
public:
  /// Reads the kernel's spelling, "83b8f4f2-509f-382f-3c1e-e6bfe0fa1001", lower case only.
  /// Error: kWrongShape. Source: names in /sys/bus/mdev/devices.
  static Result<Uuid, ParseError> parse(std::string_view text);

  /// The kernel's spelling.
  const std::string& str() const { return text_; }

  friend auto operator<=>(const Uuid&, const Uuid&) = default;

private:
  explicit Uuid(std::string_view text) : text_(text) {}

  std::string text_;
};

/// A unit of allocation: what a kubelet or a scheduler counts, and one party has at a time. PCI
/// addresses are before UUIDs.
class UnitId {
public:
  /// Characters of the longest.
  static constexpr std::size_t kLongest = 36;

  // Implicit: what has such an address or UUID is a unit.
  // NOLINTNEXTLINE(google-explicit-constructor)
  UnitId(const Bdf& address) : id_(address) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  UnitId(const Uuid& uuid) : id_(uuid) {}

  /// Reads what either of the two reads. Errors: those of Bdf; kWrongShape for what is neither.
  static Result<UnitId, ParseError> parse(std::string_view text);

  /// As sysfs, the kubelet and CDI know it.
  std::string str() const;

  /// Null: it is no PCI function.
  const Bdf* address() const { return std::get_if<Bdf>(&id_); }
  /// Null: it is no mediated device.
  const Uuid* uuid() const { return std::get_if<Uuid>(&id_); }

  friend auto operator<=>(const UnitId&, const UnitId&) = default;

private:
  std::variant<Bdf, Uuid> id_;
};

}  // namespace vfiogate
