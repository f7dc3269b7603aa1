#pragma once
// The bounds of one snapshot on the line: what encode() keeps and decode() insists on.

#include <cstdint>

namespace vfiogate {

/// Bytes of one text. sysfs never shows more than a page of an attribute.
constexpr std::uint32_t kMaxText = 4096;
/// Devices, groups, members of a group: the functions of one PCI segment.
constexpr std::uint32_t kMaxFunctions = 65'536;
constexpr std::uint32_t kMaxMediated = 1024;
constexpr std::uint32_t kMaxProblems = 64;

}  // namespace vfiogate
