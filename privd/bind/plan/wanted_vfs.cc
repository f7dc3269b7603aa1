#include "privd/bind/plan/wanted_vfs.h"

#include "ipc/base/hex.h"

#include <algorithm>

namespace vfiogate {
namespace {

/// Routing ids have 16 bits.
constexpr std::uint32_t kMostVfs = 65535;

Result<Selector, SelectorProblem> parseWhich(const std::string& text) {
  for (const std::string& place : {text, "0000:" + text}) {
    const auto address = Bdf::parse(place);
    if (!address) continue;
    Selector one;
    if (auto added = one.add("address", address->str()); !added) return Failure{added.error()};
    return one;
  }
  return functionSelector(text);
}

}  // namespace

Result<WantedVfs, std::string> parseVfs(std::string_view text) {
  const std::string given(text);
  const std::size_t equals = given.rfind('=');
  const auto count =
      equals == std::string::npos ? std::nullopt : parseDecimal(given.substr(equals + 1));
  if (!count || *count > kMostVfs) {
    return Failure{"'" + given +
                   "': say how many of which card: ADDRESS=NUMBER (privd show has its address)"};
  }
  if (*count == 0) return Failure{"'" + given + "': privd ends no virtual functions: leave it out"};
  auto which = parseWhich(given.substr(0, equals));
  if (!which) return Failure{which.error().text};
  return WantedVfs{given, std::move(which).value(), *count};
}

bool isAbout(const WantedVfs& wanted, const PciDevice& device) {
  return device.sriov == SriovRole::kPhysicalFunction && matches(wanted.which, device);
}

std::optional<std::uint32_t> vfsFor(const PciDevice& device, const std::vector<WantedVfs>& wanted) {
  const auto found =
      std::ranges::find_if(wanted, [&](const WantedVfs& one) { return isAbout(one, device); });
  return found == wanted.end() ? std::nullopt : std::optional(found->count);
}

}  // namespace vfiogate
