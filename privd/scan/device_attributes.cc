#include "privd/scan/device_attributes.h"

#include "ipc/base/hex.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace vfiogate {
namespace {

constexpr std::size_t kLongestText = 1024;
constexpr std::size_t kLongestQuote = 40;

bool isAbsent(int error) {
  return error == ENOENT || error == ENODEV;
}

/// Text from sysfs as it may stand in a message: printable ASCII, cut.
std::string quoted(const std::string& text) {
  std::string shown = text.substr(0, kLongestQuote);
  for (char& c : shown) {
    if (c < 0x20 || c > 0x7e || c == '"') c = '?';
  }
  return '"' + shown + (text.size() > kLongestQuote ? "...\"" : "\"");
}

}  // namespace

void DeviceAttributes::blame(const std::string& attribute, std::string why) {
  problems_.push_back({attribute, std::move(why)});
}

void DeviceAttributes::blameText(const std::string& attribute, const std::string& text) {
  blame(attribute, "malformed: " + quoted(text));
}

std::optional<std::string> DeviceAttributes::read(const std::string& name, Need need) {
  auto value = here_ ? here_->read(name) : Failure{here_.error()};
  // A link that leads to another directory of sysfs, as `mdev_type` does.
  if (!value && value.error().error == EXDEV) value = sysfs_.read(directory_ + "/" + name);
  if (value) return std::move(value).value();
  const int error = value.error().error;
  if (!isAbsent(error)) {
    blame(name, std::string("unreadable: ") + strerror(error));
  } else if (need == Need::kRequired) {
    blame(name, "absent");
  }
  return std::nullopt;
}

std::optional<std::uint32_t> DeviceAttributes::decimal(const std::string& name, Need need) {
  const auto value = read(name, need);
  if (!value) return std::nullopt;
  const auto number = parseDecimal(*value);
  if (!number) blameText(name, *value);
  return number;
}

std::optional<std::uint32_t> DeviceAttributes::decimalOrMinusOne(const std::string& name) {
  const auto value = read(name, Need::kOptional);
  if (!value || *value == "-1") return std::nullopt;
  const auto number = parseDecimal(*value);
  // The schema carries it as a signed number, and no kernel has that many.
  if (number && *number <= 0x7fffffff) return number;
  blameText(name, *value);
  return std::nullopt;
}

std::string DeviceAttributes::text(const std::string& name, Need need) {
  const auto value = read(name, need);
  if (!value) return {};
  const bool printable = std::ranges::all_of(*value, [](char c) { return c >= 0x20 && c <= 0x7e; });
  const bool enough = !value->empty() || need == Need::kOptional;
  if (printable && enough && value->size() <= kLongestText) return *value;
  blameText(name, *value);
  return {};
}

std::string DeviceAttributes::linkName(const std::string& name) {
  const auto target = here_ ? here_->link(name) : Failure{here_.error()};
  if (!target) {
    const int error = target.error().error;
    if (!isAbsent(error)) blame(name, std::string("unreadable: ") + strerror(error));
    return {};
  }
  return target->substr(target->rfind('/') + 1);
}

std::optional<std::string> DeviceAttributes::bytes(const std::string& name, std::size_t count) {
  auto value = here_ ? here_->readBytes(name, count) : Failure{here_.error()};
  if (value) return std::move(value).value();
  const int error = value.error().error;
  blame(name, isAbsent(error) ? "absent" : std::string("unreadable: ") + strerror(error));
  return std::nullopt;
}

bool DeviceAttributes::exists(const std::string& name) const {
  return here_ ? here_->exists(name) : sysfs_.exists(directory_ + "/" + name);
}

Result<std::vector<std::string>, ReadError> DeviceAttributes::names(const std::string& name) const {
  return here_ ? here_->names(name) : Failure{here_.error()};
}

}  // namespace vfiogate
