#pragma once
// The number of an IOMMU group.
// Numbers that name things: they compare, and neither add nor mix.

#include <compare>
#include <cstdint>

namespace vfiogate {

/// A number of type `Rep` that names one thing of the kind `Tag`.
template <typename Tag, typename Rep>
class StrongId {
public:
  constexpr explicit StrongId(Rep number) : number_(number) {}
  constexpr Rep number() const { return number_; }
  friend constexpr auto operator<=>(const StrongId&, const StrongId&) = default;

private:
  Rep number_;
};

/// The kernel's number of an IOMMU group, from the link `iommu_group` of a device in sysfs. Not
/// stable: a replugged device may come back in another number, and numbers are reused.
using IommuGroupId = StrongId<struct IommuGroupTag, std::uint32_t>;

}  // namespace vfiogate
