#include "plugind/core/ledger/fingerprint.h"

#include <algorithm>
#include <functional>
#include <sstream>
#include <utility>

#include "ipc/types/hex.h"

namespace vfiogate {
namespace {

constexpr const char* kByName = " cdi";

/// One device of a fingerprint.
struct Print {
  std::string hardware;  ///< "0000:65:00.0 10de:2684": what stays the same over a reboot
  std::string group;
  std::string node;  ///< "-": none, or not handed out
};

/// Another boot alone changes no number that a container was given: it is left out.
std::vector<Print> printsOf(const std::string& fingerprint) {
  std::vector<Print> prints;
  std::istringstream devices(fingerprint);
  for (std::string device; std::getline(devices, device, ';');) {
    const auto group = device.find(" g");
    const auto node = device.find(" v");
    const auto boot = device.find(" b");
    Print print{.hardware = device.substr(0, group), .group = {}, .node = {}};
    if (group < node && node < boot && boot != std::string::npos) {
      print.group = device.substr(group + 2, node - group - 2);
      print.node = device.substr(node + 2, boot - node - 2);
    }
    prints.push_back(std::move(print));
  }
  return prints;
}

std::string printOf(const HardwareFacts& hardware, const Bdf& id,
                    const std::function<bool(std::uint32_t)>& wasHandedOut) {
  const auto found = hardware.snapshot.devices.find(id);
  if (found == hardware.snapshot.devices.end()) return id.str() + " gone;";
  const PciDevice& device = found->second;
  const bool node = device.vfioDev && wasHandedOut(*device.vfioDev);
  return id.str() + " " + hexDigits(device.vendor.value_or(0), 4) + ":" +
         hexDigits(device.device.value_or(0), 4) + " g" +
         (device.group ? std::to_string(device.group->number()) : "-") + " v" +
         (node ? std::to_string(*device.vfioDev) : "-") + " b" + hardware.bootId + ";";
}

}  // namespace

std::string fingerprintOf(const HardwareFacts& hardware, const std::set<Bdf>& ids) {
  std::string text;
  for (const Bdf& id : ids) text += printOf(hardware, id, [](std::uint32_t) { return true; });
  return text;
}

std::string lentFingerprintOf(const HardwareFacts& hardware, const std::set<Bdf>& ids,
                              const std::vector<std::string>& nodes) {
  std::string text;
  for (const Bdf& id : ids) {
    text += printOf(hardware, id, [&nodes](std::uint32_t number) {
      const std::string path = "/dev/vfio/devices/vfio" + std::to_string(number);
      return std::ranges::find(nodes, path) != nodes.end();
    });
  }
  return text;
}

std::string fingerprintPart(const std::string& fingerprint, const std::set<Bdf>& ids) {
  std::string part;
  std::istringstream devices(fingerprint);
  for (std::string device; std::getline(devices, device, ';');) {
    const auto address = Bdf::parse(device.substr(0, device.find(' ')));
    if (address && ids.contains(*address)) part += device + ";";
  }
  return part;
}

std::string byName(const std::string& fingerprint) {
  std::istringstream devices(fingerprint);
  std::string marked;
  for (std::string device; std::getline(devices, device, ';');) marked += device + kByName + ";";
  return marked;
}

bool isByName(const std::string& fingerprint) {
  std::istringstream devices(fingerprint);
  bool all = !fingerprint.empty();
  for (std::string device; std::getline(devices, device, ';');) {
    all = all && device.ends_with(kByName);
  }
  return all;
}

Sameness compareFingerprints(const std::string& lent, const std::string& present) {
  std::vector<Print> then = printsOf(lent);
  std::vector<Print> now = printsOf(present);
  for (auto* prints : {&then, &now}) std::ranges::sort(*prints, {}, &Print::hardware);
  if (!std::ranges::equal(then, now, {}, &Print::hardware, &Print::hardware)) {
    return Sameness::kOtherHardware;
  }
  const bool same = std::ranges::equal(then, now, [](const Print& old, const Print& young) {
    return old.group == young.group && (old.node == "-" || old.node == young.node);
  });
  return same ? Sameness::kSame : Sameness::kOtherNumbers;
}

}  // namespace vfiogate
