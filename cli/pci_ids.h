#pragma once
// Names of PCI devices and classes, from the pci.ids file that distributions keep.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace vfiogate {

/// What pci.ids says. Lines that make no sense are passed over; without a file every name is absent
/// and numbers have to do.
class PciIds {
public:
  /// Reads the text of a pci.ids file.
  static PciIds parse(std::string_view text);
  /// Reads the file; nothing is known if it cannot be read.
  static PciIds load(const std::string& path);

  std::optional<std::string> vendor(std::uint16_t vendor) const;
  std::optional<std::string> device(std::uint16_t vendor, std::uint16_t device) const;
  /// All of them, by vendor and device.
  const std::map<std::pair<std::uint32_t, std::uint32_t>, std::string>& devices() const {
    return devices_;
  }
  /// The most exact name for a 24 bit class code: the subclass's, otherwise the base class's.
  std::optional<std::string> className(std::uint32_t classCode) const;

private:
  std::map<std::uint32_t, std::string> vendors_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::string> devices_;
  std::map<std::uint32_t, std::string> baseClasses_;
  std::map<std::uint32_t, std::string> subclasses_;
};

/// A vendor's name as people say it: "NVIDIA" of "NVIDIA Corporation", "AMD/ATI" of "Advanced Micro
/// Devices, Inc. [AMD/ATI]".
std::string briefVendor(std::string_view name);

}  // namespace vfiogate
