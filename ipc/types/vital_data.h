#pragma once
// What a card says of itself, its vital product data (PCI Local Bus 3.0, appendix I): bytes that
// the card makes up.
//
// It is a row of resources. A small one has a byte of tag and length, a large one a byte of tag and
// two of length. One large resource, 0x90, has fields that are never written: two letters, a byte
// of length and the text; "PN" is the part number, "SN" the serial number. Others are passed over,
// and so is what may be written (0x91), as anybody who had the card may have written it.

#include <cstddef>
#include <string_view>

namespace vfiogate {

/// Bytes of it that are read, which is what the kernel gives in one read: the card's name comes
/// first, and what is never written is the next. A serial number that lies beyond is not found.
inline constexpr std::size_t kMostVitalData = 4096;

/// The serial number in the first bytes of some, without what fills it up. For a process that has
/// nothing but these bytes: allocates nothing, and calls nothing of the system.
///
/// Returns a part of `vpd` that isSerialNumber() (selector.h). Empty: there is none, or none that
/// could be said in a line, or this is no such data. What is cut off in the middle, or says a
/// length beyond its end, is none.
///
/// It ends after at most as many steps as there are bytes, whatever they are: each resource and
/// each field takes at least one, and no length is believed beyond what there is. Its fuzz target
/// is sysfs_fuzz.
std::string_view serialIn(std::string_view vpd);

}  // namespace vfiogate
