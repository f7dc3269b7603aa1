#include "privd/state/state_text.h"

#include "ipc/base/hex.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>

namespace vfiogate {
namespace {

constexpr std::size_t kLongestReason = 200;
constexpr std::array<std::string_view, 3> kPurposes{"hand", "declaration", "allocation"};

struct Field {
  std::string_view key;
  std::string value;
};

std::string linesOf(std::initializer_list<Field> fields) {
  std::string text = "format=1\n";
  for (const Field& field : fields) text.append(field.key).append("=").append(field.value) += '\n';
  return text;
}

bool isControl(char c) {
  return static_cast<unsigned char>(c) < ' ' || c == '\x7f';
}

/// The values of exactly these keys; null: the text is another.
std::optional<std::vector<std::string>> valuesOf(std::string_view text,
                                                 std::initializer_list<std::string_view> keys) {
  constexpr std::string_view kFormat = "format=1\n";
  if (text.size() > kLargestState || !text.starts_with(kFormat)) return std::nullopt;
  text.remove_prefix(kFormat.size());
  std::vector<std::string> values;
  for (const std::string_view key : keys) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.size() == text.size() || line.size() <= key.size()) return std::nullopt;
    if (!line.starts_with(key) || line[key.size()] != '=') return std::nullopt;
    if (std::ranges::any_of(line, isControl)) return std::nullopt;
    values.emplace_back(line.substr(key.size() + 1));
    text.remove_prefix(line.size() + 1);
  }
  if (!text.empty()) return std::nullopt;
  return values;
}

std::optional<DeviceIdentity> identityFrom(const Bdf& address, const std::string& vendorText,
                                           const std::string& deviceText) {
  const auto vendor = parseHexDigits(vendorText, 4);
  const auto device = parseHexDigits(deviceText, 4);
  if (!vendor || !device) return std::nullopt;
  return DeviceIdentity{address, static_cast<std::uint16_t>(*vendor),
                        static_cast<std::uint16_t>(*device)};
}

}  // namespace

std::string_view nameOf(BoundFor purpose) {
  return kPurposes.at(static_cast<std::size_t>(purpose));
}

std::string textOf(const BoundDevice& device) {
  return linesOf({{"vendor", hexDigits(device.device.vendor, 4)},
                  {"device", hexDigits(device.device.device, 4)},
                  {"driver", device.driver},
                  {"former_driver", device.formerDriver},
                  {"former_override", device.formerOverride},
                  {"boot", device.bootId},
                  {"purpose", std::string(nameOf(device.purpose))}});
}

std::string textOf(const Exclusion& exclusion) {
  return linesOf({{"since", std::to_string(exclusion.since)}, {"reason", exclusion.reason}});
}

std::string textOf(const DeviceIdentity& declared) {
  return linesOf(
      {{"vendor", hexDigits(declared.vendor, 4)}, {"device", hexDigits(declared.device, 4)}});
}

template <>
std::optional<BoundDevice> stateFrom<BoundDevice>(const Bdf& address, std::string_view text) {
  const auto values = valuesOf(
      text, {"vendor", "device", "driver", "former_driver", "former_override", "boot", "purpose"});
  if (!values) return std::nullopt;
  const auto identity = identityFrom(address, values->at(0), values->at(1));
  const auto* const purpose = std::ranges::find(kPurposes, values->at(6));
  if (!identity || purpose == kPurposes.end() || values->at(2).empty()) return std::nullopt;
  return BoundDevice{*identity,     values->at(2),
                     values->at(3), values->at(4),
                     values->at(5), static_cast<BoundFor>(purpose - kPurposes.begin())};
}

template <>
std::optional<Exclusion> stateFrom<Exclusion>(const UnitId& device, std::string_view text) {
  const auto values = valuesOf(text, {"since", "reason"});
  if (!values || values->at(1).size() > kLongestReason) return std::nullopt;
  Exclusion exclusion{device, values->at(1), 0};
  const std::string& since = values->at(0);
  const auto read = std::from_chars(since.data(), since.data() + since.size(), exclusion.since);
  if (read.ec != std::errc() || read.ptr != since.data() + since.size()) return std::nullopt;
  return exclusion;
}

template <>
std::optional<DeviceIdentity> stateFrom<DeviceIdentity>(const Bdf& address, std::string_view text) {
  const auto values = valuesOf(text, {"vendor", "device"});
  if (!values) return std::nullopt;
  return identityFrom(address, values->at(0), values->at(1));
}

}  // namespace vfiogate
