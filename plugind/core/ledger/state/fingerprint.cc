#include "plugind/core/ledger/state/fingerprint.h"

#include <algorithm>
#include <functional>
#include <map>
#include <sstream>
#include <utility>

#include "ipc/base/hex.h"
#include "ipc/types/vfio_nodes.h"

namespace vfiogate {
namespace {

constexpr const char* kByName = " cdi";
constexpr const char* kAlong = " along";

/// What it says of each device, without the semicolons.
std::vector<std::string> entriesOf(const std::string& fingerprint) {
  std::vector<std::string> entries;
  std::istringstream text(fingerprint);
  for (std::string entry; std::getline(text, entry, ';');) entries.push_back(std::move(entry));
  return entries;
}

Result<UnitId, ParseError> addressOf(const std::string& entry) {
  return UnitId::parse(entry.substr(0, entry.find(' ')));
}

bool isAlong(const std::string& entry) {
  return entry.find(kAlong) != std::string::npos;
}

/// One device of a fingerprint.
struct Print {
  std::string hardware;  ///< "0000:65:00.0 10de:2684": what stays the same over a reboot
  std::map<std::string, std::string> fields;  ///< {"rev", "a1"}: that, too, where it is known
  std::string group;
  std::string node;    ///< "-": none, or not handed out
  std::string memory;  ///< of its region of extended memory, the number; empty: not handed out
};

/// Another boot alone changes no number that a container was given: it is left out.
std::vector<Print> printsOf(const std::string& fingerprint) {
  std::vector<Print> prints;
  for (const std::string& device : entriesOf(fingerprint)) {
    const auto group = device.find(" g");
    const auto node = device.find(" v", group);
    const auto boot = device.find(" b", node);  // before it a vendor's id may begin so
    Print print;
    std::istringstream words(device.substr(0, group));
    for (std::string word; words >> word;) {
      const auto sign = word.find('=');
      if (sign == std::string::npos) {
        print.hardware += word + " ";
      } else {
        print.fields.emplace(word.substr(0, sign), word.substr(sign + 1));
      }
    }
    if (group < node && node < boot && boot != std::string::npos) {
      print.group = device.substr(group + 2, node - group - 2);
      const auto memory = device.find(" e", node + 1);
      const auto end = std::min(memory, boot);
      print.node = device.substr(node + 2, end - node - 2);
      if (memory < boot) print.memory = device.substr(memory + 2, boot - memory - 2);
    }
    prints.push_back(std::move(print));
  }
  return prints;
}

bool areOfOneDevice(const Print& old, const Print& young) {
  return old.hardware == young.hardware &&
         std::ranges::all_of(old.fields, [&young](const auto& field) {
           const auto other = young.fields.find(field.first);
           return other == young.fields.end() || other->second == field.second;
         });
}

/// " sub=10de:167c class=030000 rev=a1 type=1147": the type of a vGPU; of a virtual function that
/// is none, "-".
std::string fieldsOf(const PciDevice& device) {
  std::string text;
  if (device.subvendor && device.subdevice) {
    text += " sub=" + hexDigits(*device.subvendor, 4) + ":" + hexDigits(*device.subdevice, 4);
  }
  if (device.classCode) text += " class=" + hexDigits(*device.classCode, 6);
  if (device.revision) text += " rev=" + hexDigits(*device.revision, 2);
  const bool isVirtual = device.sriov == SriovRole::kVirtualFunction;
  if (device.vgpuType) {
    text += " type=" + std::to_string(*device.vgpuType);
  } else if (isVirtual) {
    text += " type=-";
  }
  return text;
}

/// In characters that end no field.
std::string plain(const std::string& text) {
  std::string made;
  for (const char c : text) made += c > ' ' && c <= '~' && c != ';' && c != '=' ? c : '?';
  return made;
}

std::string functionText(const HardwareFacts& hardware, const PciDevice& device) {
  const auto serial = hardware.serials.find(device.address);
  return hexDigits(device.vendor.value_or(0), 4) + ":" + hexDigits(device.device.value_or(0), 4) +
         fieldsOf(device) +
         (serial == hardware.serials.end() ? "" : " sn=" + plain(serial->second));
}

/// "mdev type=nvidia-711 parent=0000:11:00.0". A type's id is the kernel's name of a directory.
std::string partText(const MediatedDevice& device) {
  std::string text = "mdev";
  if (!device.type.empty()) text += " type=" + plain(device.type);
  if (device.parent) text += " parent=" + device.parent->str();
  return text;
}

std::string printOf(const HardwareFacts& hardware, const UnitId& id,
                    const std::function<bool(const SpecNode&)>& wasHandedOut) {
  if (!isPresent(hardware.snapshot, id)) return id.str() + " gone;";
  const PciDevice* function = functionOf(hardware.snapshot, id);
  const VfioPlace place = placeOf(hardware.snapshot, id);
  const bool node = place.vfioDev && wasHandedOut({SpecNode::Kind::kDevice, *place.vfioDev});
  const auto region = egmRegionOf(hardware.snapshot.egm, id);
  const bool memory = region && wasHandedOut({SpecNode::Kind::kEgm, *region});
  return id.str() + " " +
         (function == nullptr ? partText(*mediatedOf(hardware.snapshot, id))
                              : functionText(hardware, *function)) +
         " g" + (place.group ? std::to_string(place.group->number()) : "-") + " v" +
         (node ? std::to_string(*place.vfioDev) : "-") +
         (memory ? " e" + std::to_string(*region) : "") + " b" + hardware.bootId + ";";
}

}  // namespace

std::string fingerprintOf(const HardwareFacts& hardware, const std::set<UnitId>& ids) {
  std::string text;
  for (const UnitId& id : ids) text += printOf(hardware, id, [](const SpecNode&) { return true; });
  return text;
}

std::string allocatedFingerprintOf(const HardwareFacts& hardware, const std::set<UnitId>& ids,
                                   const std::vector<std::string>& nodes) {
  std::string text;
  for (const UnitId& id : ids) {
    text += printOf(hardware, id, [&nodes](const SpecNode& node) {
      return std::ranges::find(nodes, pathOf(node)) != nodes.end();
    });
  }
  return text;
}

std::string wentAlong(const std::string& fingerprint) {
  std::string marked;
  for (const std::string& device : entriesOf(fingerprint)) marked += device + kAlong + ";";
  return marked;
}

std::string alongIn(const std::string& fingerprint) {
  std::string along;
  for (const std::string& device : entriesOf(fingerprint)) {
    if (isAlong(device)) along += device + ";";
  }
  return along;
}

std::string withoutLost(const std::string& allocated, const HardwareFacts& present) {
  std::string left;
  for (const std::string& device : entriesOf(allocated)) {
    const auto id = addressOf(device);
    const bool lost = id && isAlong(device) && !isPresent(present.snapshot, *id) &&
                      device.find(" v- ") != std::string::npos;
    if (!lost) left += device + ";";
  }
  return left;
}

std::string fingerprintPart(const std::string& fingerprint, const std::set<UnitId>& ids) {
  std::string part;
  for (const std::string& device : entriesOf(fingerprint)) {
    const auto address = addressOf(device);
    if (address && ids.contains(*address)) part += device + ";";
  }
  return part;
}

std::set<UnitId> devicesIn(const std::string& fingerprint) {
  std::set<UnitId> found;
  for (const std::string& device : entriesOf(fingerprint)) {
    if (const auto address = addressOf(device)) found.insert(*address);
  }
  return found;
}

std::set<UnitId> askedIn(const std::string& fingerprint) {
  std::set<UnitId> asked = devicesIn(fingerprint);
  for (const UnitId& along : devicesIn(alongIn(fingerprint))) asked.erase(along);
  return asked;
}

std::string hardwareText(const std::string& fingerprint, const UnitId& device) {
  const std::string part = fingerprintPart(fingerprint, {device});
  const auto begin = part.find(' ');
  if (begin == std::string::npos) return "gone";
  const auto end = std::min(part.find(" g", begin + 1), part.find(';'));
  return part.substr(begin + 1, end - begin - 1);
}

std::string byName(const std::string& fingerprint) {
  std::string marked;
  for (const std::string& device : entriesOf(fingerprint)) marked += device + kByName + ";";
  return marked;
}

bool isByName(const std::string& fingerprint) {
  const std::vector<std::string> devices = entriesOf(fingerprint);
  return !devices.empty() && std::ranges::all_of(devices, [](const std::string& device) {
    return device.ends_with(kByName);
  });
}

Sameness compareFingerprints(const std::string& allocated, const std::string& present) {
  std::vector<Print> then = printsOf(allocated);
  std::vector<Print> now = printsOf(present);
  for (auto* prints : {&then, &now}) std::ranges::sort(*prints, {}, &Print::hardware);
  if (!std::ranges::equal(then, now, areOfOneDevice)) {
    return Sameness::kOtherHardware;
  }
  const bool same = std::ranges::equal(then, now, [](const Print& old, const Print& young) {
    return old.group == young.group && (old.node == "-" || old.node == young.node) &&
           (old.memory.empty() || old.memory == young.memory);
  });
  return same ? Sameness::kSame : Sameness::kOtherNumbers;
}

std::optional<UnitId> firstOther(const std::string& allocated, const std::string& present) {
  for (const UnitId& device : devicesIn(allocated)) {
    if (hardwareText(present, device) == "gone") continue;
    const Sameness sameness = compareFingerprints(fingerprintPart(allocated, {device}),
                                                  fingerprintPart(present, {device}));
    if (sameness == Sameness::kOtherHardware) return device;
  }
  return std::nullopt;
}

}  // namespace vfiogate
