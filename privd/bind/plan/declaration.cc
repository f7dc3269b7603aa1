#include "privd/bind/plan/declaration.h"

#include <algorithm>

namespace vfiogate {

std::optional<ChangeBy> declaredBy(const PciDevice& device, const std::vector<Selector>& declared,
                                   const std::optional<DeviceIdentity>& kept) {
  if (!isEndpoint(device) || !device.group) return std::nullopt;
  if (kept && device.vendor == kept->vendor && device.device == kept->device) {
    return ChangeBy::kOperator;
  }
  const auto fits = [&device](const Selector& selector) { return matches(selector, device); };
  if (std::ranges::any_of(declared, fits)) return ChangeBy::kDeclaration;
  return std::nullopt;
}

Result<Selector, SelectorProblem> parseDeclaration(std::string_view text) {
  const std::size_t equals = text.find('=');
  const auto address = Bdf::parse(text.substr(0, equals));
  if (!address) return functionSelector(text);
  if (equals == std::string_view::npos) {
    return Failure{
        SelectorProblem{"'" + std::string(text) +
                        "': say which card: ADDRESS=VENDOR:DEVICE (privd show has both)"}};
  }
  auto selector = functionSelector(text.substr(equals + 1));
  if (!selector) return selector;
  Selector card = std::move(selector).value();
  if (auto added = card.add("address", address->str()); !added) return Failure{added.error()};
  return card;
}

Result<GuardOverride, std::string> parseOverride(std::string_view text) {
  const std::size_t equals = text.find('=');
  const auto guard = guardNamed(text.substr(0, equals));
  if (!guard || !mayBeOverridden(*guard)) {
    std::string names;
    for (unsigned i = 0; i < kGuards; ++i) {
      const auto one = static_cast<Guard>(i);
      if (mayBeOverridden(one)) names += (names.empty() ? "" : ", ") + std::string(nameOf(one));
    }
    return Failure{"'" + std::string(text.substr(0, equals)) +
                   "' is no guard that may be overridden: those are " + names};
  }
  if (equals == std::string_view::npos) return GuardOverride{*guard, std::nullopt};
  const std::string_view place = text.substr(equals + 1);
  const auto address = Bdf::parse(place);
  const auto full = address ? address : Bdf::parse("0000:" + std::string(place));
  if (!full) return Failure{"'" + std::string(place) + "' is no PCI address"};
  return GuardOverride{*guard, *full};
}

}  // namespace vfiogate
