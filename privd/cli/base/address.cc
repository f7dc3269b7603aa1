#include "privd/cli/base/address.h"

#include "privd/cli/base/device_json.h"

#include <algorithm>

namespace vfiogate {

Result<Bdf, std::string> addressOf(const std::string& text) {
  if (const auto full = Bdf::parse(text)) return *full;
  if (const auto brief = Bdf::parse("0000:" + text)) return *brief;
  return Failure{"'" + jsonText(text) +
                 "' is no PCI address: write it as 0000:01:00.0 or 01:00.0 (privd list has them)"};
}

Result<std::vector<Bdf>, std::string> addressesOf(const std::vector<std::string>& texts) {
  std::vector<Bdf> addresses;
  for (const std::string& text : texts) {
    const auto address = addressOf(text);
    if (!address) return Failure{address.error()};
    if (std::ranges::find(addresses, *address) == addresses.end()) addresses.push_back(*address);
  }
  return addresses;
}

}  // namespace vfiogate
