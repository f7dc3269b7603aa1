#pragma once
// Numbers that name things: they compare, and neither add nor mix.

#include <compare>

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

}  // namespace vfiogate
