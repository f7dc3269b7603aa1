#include "ipc/types/selector.h"

#include <algorithm>
#include <array>
#include <optional>

#include "ipc/base/hex.h"

namespace vfiogate {
namespace {

using Text = Result<std::string, SelectorProblem>;

struct KeyName {
  std::string_view name;
  SelectorKey key;
};
constexpr std::array kKeys{
    KeyName{"vendor", SelectorKey::kVendor},       KeyName{"device", SelectorKey::kDevice},
    KeyName{"subvendor", SelectorKey::kSubvendor}, KeyName{"subdevice", SelectorKey::kSubdevice},
    KeyName{"class", SelectorKey::kClass},         KeyName{"driver", SelectorKey::kDriver},
    KeyName{"address", SelectorKey::kAddress},     KeyName{"root", SelectorKey::kRoot},
    KeyName{"numa", SelectorKey::kNuma},           KeyName{"sriov", SelectorKey::kSriov},
    KeyName{"mdev", SelectorKey::kMdev},           KeyName{"vgpu", SelectorKey::kVgpu},
    KeyName{"product", SelectorKey::kProduct},     KeyName{"slot", SelectorKey::kSlot},
    KeyName{"rootPort", SelectorKey::kRootPort},   KeyName{"serial", SelectorKey::kSerial},
};
constexpr std::size_t kMaxValue = 64;

Failure<SelectorProblem> problem(std::string text) {
  return Failure{SelectorProblem{std::move(text)}};
}

std::string inQuotes(std::string_view text) {
  std::string shown = "\"";
  for (const char c : text.substr(0, kMaxValue)) shown += c >= ' ' && c <= '~' ? c : '?';
  return shown + (text.size() > kMaxValue ? "...\"" : "\"");
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

bool consistsOf(std::string_view text, std::string_view allowed) {
  return !text.empty() && text.find_first_not_of(allowed) == std::string_view::npos;
}

Text readHex(std::string_view value, std::initializer_list<std::size_t> digits, const char* want) {
  std::string text = lower(value);
  if (text.starts_with("0x")) text.erase(0, 2);
  const bool rightLength = std::ranges::find(digits, text.size()) != digits.end();
  if (rightLength && parseHexDigits(text, text.size())) return text;
  return problem("found " + inQuotes(value) + "; write " + want);
}

Text readAddress(std::string_view value) {
  const std::string text = lower(value);
  if (text.find('*') == std::string::npos) {
    const auto address = Bdf::parse(text);
    if (address) return address->str();
  } else if (text.size() <= kMaxValue && consistsOf(text, "0123456789abcdef:.*")) {
    return text;
  }
  return problem("found " + inQuotes(value) +
                 "; write an address such as 0000:3b:00.0 or 0000:3b:*");
}

Text readRoot(std::string_view value) {
  const std::string text = lower(value);
  // The bus part of a root complex is the address of its first function, cut.
  if (text.starts_with("pci") && Bdf::parse(text.substr(3) + ":00.0")) return text;
  return problem("found " + inQuotes(value) + "; write a root complex such as pci0000:00");
}

Text readDriver(std::string_view value) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  if (value.size() <= kMaxValue && consistsOf(value, kAllowed)) return std::string(value);
  return problem("found " + inQuotes(value) + "; write a driver's name such as vfio-pci");
}

Text readNuma(std::string_view value) {
  if (const auto node = parseDecimal(value)) return std::to_string(*node);
  return problem("found " + inQuotes(value) + "; write a NUMA node's number such as 0");
}

/// Of a type, by id or by name: the kernel's drivers have letters, digits, blanks and a few signs.
Text readType(std::string_view value, const std::string& want) {
  const bool plain = std::ranges::all_of(value, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view(" _-./*()").find(c) != std::string_view::npos;
  });
  if (plain && !value.empty() && value.size() <= kMaxValue) return std::string(value);
  return problem("found " + inQuotes(value) + "; write " + want);
}

Text readProduct(std::string_view value) {
  const bool plain = std::ranges::all_of(value, [](char c) { return c >= ' ' && c <= '~'; });
  if (plain && !value.empty() && value.size() <= kMaxValue) return std::string(value);
  return problem("found " + inQuotes(value) +
                 "; write what pci.ids calls the model, such as *GeForce RTX 40*");
}

Text readSlot(std::string_view value) {
  if (isSlotName(value)) return std::string(value);
  return problem("found " + inQuotes(value) +
                 "; write a slot's name as /sys/bus/pci/slots has it, such as 4, or 4*");
}

Text readRootPort(std::string_view value) {
  if (const auto address = Bdf::parse(lower(value))) return address->str();
  return problem("found " + inQuotes(value) +
                 "; write the address of the bridge on the root bus, such as 0000:3a:00.0");
}

Text readSerial(std::string_view value) {
  if (isSerialNumber(value)) return std::string(value);
  return problem("found " + inQuotes(value) +
                 "; write a serial number as `privd show` prints it, at most 64 characters");
}

Text readSriov(std::string_view value) {
  if (value == "none" || value == "pf" || value == "vf") return std::string(value);
  return problem("found " + inQuotes(value) + "; write none, pf or vf");
}

Text readValue(SelectorKey key, std::string_view value) {
  switch (key) {
    case SelectorKey::kVendor:
    case SelectorKey::kDevice:
    case SelectorKey::kSubvendor:
    case SelectorKey::kSubdevice:
      return readHex(value, {4}, "4 hex digits such as 10de");
    case SelectorKey::kClass:
      return readHex(value, {2, 4, 6}, "2, 4 or 6 hex digits such as 03 or 0302");
    case SelectorKey::kDriver:
      return readDriver(value);
    case SelectorKey::kAddress:
      return readAddress(value);
    case SelectorKey::kRoot:
      return readRoot(value);
    case SelectorKey::kNuma:
      return readNuma(value);
    case SelectorKey::kSriov:
      return readSriov(value);
    case SelectorKey::kMdev:
      return readType(value,
                      "a type of mediated devices such as nvidia-711, or its name, NVIDIA A16-4Q");
    case SelectorKey::kVgpu:
      return readType(value, "a type of vGPUs such as 1147, or its name, NVIDIA L40S-1Q");
    case SelectorKey::kProduct:
      return readProduct(value);
    case SelectorKey::kSlot:
      return readSlot(value);
    case SelectorKey::kRootPort:
      return readRootPort(value);
    case SelectorKey::kSerial:
      return readSerial(value);
  }
  return problem("not a key");
}

Result<SelectorKey, SelectorProblem> readKey(std::string_view name) {
  for (const KeyName& known : kKeys) {
    if (known.name == name) return known.key;
  }
  std::string all;
  for (const KeyName& known : kKeys) all += " " + std::string(known.name);
  return problem("unknown key " + inQuotes(name) + "; the keys are" + all);
}

template <typename Number>
std::optional<std::string> hexText(const std::optional<Number>& number, int digits) {
  return number ? std::optional(hexDigits(*number, digits)) : std::nullopt;
}

std::string_view roleName(SriovRole role) {
  if (role == SriovRole::kPhysicalFunction) return "pf";
  return role == SriovRole::kVirtualFunction ? "vf" : "none";
}

/// What a device has to say to `key`, in the selector's spelling. Null: nothing.
std::optional<std::string> deviceText(const PciDevice& device, SelectorKey key) {
  switch (key) {
    case SelectorKey::kVendor:
      return hexText(device.vendor, 4);
    case SelectorKey::kDevice:
      return hexText(device.device, 4);
    case SelectorKey::kSubvendor:
      return hexText(device.subvendor, 4);
    case SelectorKey::kSubdevice:
      return hexText(device.subdevice, 4);
    case SelectorKey::kClass:
      return hexText(device.classCode, 6);
    case SelectorKey::kDriver:
      return device.driver;
    case SelectorKey::kAddress:
      return device.address.str();
    case SelectorKey::kRoot:
      return lower(device.pcieRoot);
    case SelectorKey::kNuma:
      return device.numaNode ? std::optional(std::to_string(*device.numaNode)) : std::nullopt;
    case SelectorKey::kSriov:
      return std::string(roleName(device.sriov));
    case SelectorKey::kSlot:
      return device.slot.empty() ? std::nullopt : std::optional(device.slot);
    case SelectorKey::kRootPort:
      return device.rootPort ? std::optional(device.rootPort->str()) : std::nullopt;
    case SelectorKey::kVgpu:
      if (device.vgpuType.value_or(0) != 0) return std::to_string(*device.vgpuType);
      break;
    case SelectorKey::kMdev:
    case SelectorKey::kProduct:
    case SelectorKey::kSerial:
      break;
  }
  return std::nullopt;
}

/// By its id, or by its name with '_' for blanks, too.
bool isOfType(std::string_view pattern, std::string_view id, const std::string& name) {
  const auto underlined = [](std::string text) {
    std::ranges::replace(text, ' ', '_');
    return text;
  };
  return matchesPattern(pattern, id) ||
         matchesPattern(underlined(std::string(pattern)), underlined(name));
}

/// One of which nothing is known is none of them.
bool isAnyOf(const std::vector<std::string>& patterns, const std::string& product) {
  return !product.empty() && std::ranges::any_of(patterns, [&product](const std::string& pattern) {
    return isOfType(pattern, product, product);
  });
}

bool covers(SelectorKey key, std::string_view value, std::string_view text) {
  if (key == SelectorKey::kClass) return text.starts_with(value);
  if (key == SelectorKey::kAddress || key == SelectorKey::kSlot) return matchesPattern(value, text);
  return text == value;
}

/// As far as it is about PCI functions. Null: the serial number may be any.
bool matchesFunction(const Selector& selector, const PciDevice& device, std::string_view product,
                     std::optional<std::string_view> serial) {
  return std::ranges::all_of(selector.values(), [&](const auto& entry) {
    const SelectorKey key = entry.first;
    if (key == SelectorKey::kMdev) return true;
    if (key == SelectorKey::kProduct) return isAnyOf(entry.second, std::string(product));
    if (key == SelectorKey::kSerial) {
      return !serial || std::ranges::find(entry.second, *serial) != entry.second.end();
    }
    const std::optional<std::string> text = deviceText(device, key);
    return text && std::ranges::any_of(entry.second, [&](const std::string& value) {
             if (key == SelectorKey::kVgpu) return isOfType(value, *text, device.vgpuTypeName);
             return covers(key, value, *text);
           });
  });
}

}  // namespace

std::string_view selectorKeyName(SelectorKey key) {
  const auto* const found = std::ranges::find(kKeys, key, &KeyName::key);
  return found == kKeys.end() ? std::string_view() : found->name;
}

Result<Selector, SelectorProblem> Selector::parse(std::string_view text) {
  // "10de:2684" is short for the two keys.
  if (text.size() == 9 && text[4] == ':' && text.find('=') == std::string_view::npos) {
    const std::string vendor(text.substr(0, 4));
    return parse("vendor=" + vendor + ",device=" + std::string(text.substr(5)));
  }
  Selector selector;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) {
      return problem("found " + inQuotes(part) + "; write key=value, or 10de:2684 alone");
    }
    const auto added = selector.add(part.substr(0, equals), part.substr(equals + 1));
    if (!added) return problem("in " + inQuotes(part) + ": " + added.error().text);
    if (comma == std::string_view::npos) return selector;
    text.remove_prefix(comma + 1);
  }
}

Result<Done, SelectorProblem> Selector::add(std::string_view key, std::string_view value) {
  const auto known = readKey(key);
  if (!known) return Failure{known.error()};
  const auto text = readValue(*known, value);
  if (!text) return Failure{text.error()};
  std::vector<std::string>& accepted = values_[*known];
  if (std::ranges::find(accepted, *text) == accepted.end()) accepted.push_back(*text);
  return Done{};
}

bool matches(const Selector& selector, const PciDevice& device, std::string_view product,
             std::optional<std::string_view> serial) {
  return !selectsMediated(selector) && matchesFunction(selector, device, product, serial);
}

Result<Selector, SelectorProblem> functionSelector(std::string_view text) {
  auto selector = Selector::parse(text);
  if (!selector) return selector;
  if (selectsProducts(*selector)) {
    return problem("product is for plugind's configuration: select by vendor and device here");
  }
  if (selector->values().contains(SelectorKey::kSlot)) {
    return problem("slot is for plugind's configuration: select by address or rootPort here");
  }
  if (selectsSerials(*selector)) {
    return problem("serial is for plugind's configuration: select by address or rootPort here");
  }
  if (!selectsMediated(*selector)) return selector;
  return problem("mdev selects mediated devices, which are never bound: select their parent");
}

bool selectsVgpus(const Selector& selector) {
  return selector.values().contains(SelectorKey::kVgpu);
}

bool selectsProducts(const Selector& selector) {
  return selector.values().contains(SelectorKey::kProduct);
}

bool selectsMediated(const Selector& selector) {
  return selector.values().contains(SelectorKey::kMdev);
}

bool selectsSerials(const Selector& selector) {
  return selector.values().contains(SelectorKey::kSerial);
}

bool matches(const Selector& selector, const Snapshot& snapshot, const MediatedDevice& device,
             std::string_view product, std::optional<std::string_view> serial) {
  const auto types = selector.values().find(SelectorKey::kMdev);
  if (types == selector.values().end()) return false;
  const bool ofType = std::ranges::any_of(types->second, [&](const std::string& value) {
    return isOfType(value, device.type, device.typeName);
  });
  const bool others = selector.values().size() > 1;
  const auto parent =
      device.parent ? snapshot.devices.find(*device.parent) : snapshot.devices.end();
  if (!ofType || !others) return ofType;
  return parent != snapshot.devices.end() &&
         matchesFunction(selector, parent->second, product, serial);
}

bool isSlotName(std::string_view text) {
  return !text.empty() && text.size() <= kMaxValue && text.front() != '.' &&
         std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~' && c != '/'; });
}

bool isSerialNumber(std::string_view text) {
  return !text.empty() && text.size() <= kLongestSerial && text.front() != ' ' &&
         text.back() != ' ' &&
         std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

bool matchesPattern(std::string_view pattern, std::string_view text) {
  std::size_t at = 0;
  std::size_t next = 0;
  // Where the latest '*' stands and how much of the text it has swallowed: the only choice to undo.
  std::size_t star = std::string_view::npos;
  std::size_t swallowed = 0;
  while (at < text.size()) {
    if (next < pattern.size() && pattern[next] == '*') {
      star = next++;
      swallowed = at;
    } else if (next < pattern.size() && pattern[next] == text[at]) {
      ++next;
      ++at;
    } else if (star != std::string_view::npos) {
      next = star + 1;
      at = ++swallowed;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', next) == std::string_view::npos;
}

}  // namespace vfiogate
