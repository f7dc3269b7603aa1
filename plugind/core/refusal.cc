#include "plugind/core/refusal.h"

namespace vfiogate {

Refusal refuse(const RefusedDevice& device, const std::string& state, const std::string& reason,
               const std::vector<std::string>& refs) {
  std::string text = device.address.str();
  if (device.group) text += ", group " + std::to_string(device.group->number());
  text += ": " + state + ", " + reason;
  for (const std::string& ref : refs) text += ", ref=" + ref;
  return {reason, text};
}

Refusal refusePrivdAway(const std::vector<std::string>& ids) {
  const std::string device = ids.empty() ? "no device" : quoteForeign(ids.front());
  return {"privd-away", device + ": cannot be checked, privd is away, privd-away"};
}

Refusal refuseClaimUnchecked() {
  return {"privd-away", "the claim: cannot be checked, privd is away, privd-away"};
}

Refusal refuseNotShown(std::string_view id, const ResourceName& resource) {
  return {"not-shown",
          quoteForeign(id) + ": not among the devices shown in " + resource.str() + ", not-shown"};
}

std::string quoteForeign(std::string_view text) {
  constexpr std::size_t kShown = 64;
  std::string quoted = "\"";
  for (const char c : text.substr(0, kShown)) quoted += c >= ' ' && c <= '~' ? c : '?';
  return quoted + (text.size() > kShown ? "...\"" : "\"");
}

}  // namespace vfiogate
