#pragma once
// The names of a node's slices. Pure.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vfiogate {

enum class SliceKind : std::uint8_t { kDevices, kCounters };

/// One slice among those of a pool.
struct SliceSlot {
  SliceKind kind = SliceKind::kDevices;
  std::size_t number = 0;

  /// Counters come first: no device is to be seen before what it consumes.
  friend auto operator<=>(const SliceSlot& a, const SliceSlot& b) {
    if (a.kind != b.kind) return b.kind <=> a.kind;
    return a.number <=> b.number;
  }
  friend bool operator==(const SliceSlot&, const SliceSlot&) = default;
};

/// "<node>-<driver>", with a hash in place of the node's end where that is too long for a name.
std::string sliceNameBase(std::string_view node, std::string_view driver);
/// "<base>-007" or "<base>-counters-007", at most 253 bytes.
std::string sliceName(std::string_view base, SliceSlot slot);
/// Of a name that sliceName() makes of this base.
std::optional<SliceSlot> sliceSlotOf(std::string_view base, std::string_view name);

}  // namespace vfiogate
