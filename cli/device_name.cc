#include "cli/device_name.h"

#include "ipc/base/hex.h"

#include <algorithm>
#include <cctype>

namespace vfiogate {
namespace {

/// An address in its parts: what is before the dot, and what is behind it.
struct SplitAddress {
  std::vector<std::string_view> before;  ///< segment (or none), bus, device
  std::optional<std::string_view> function;
};

std::string lower(std::string_view text) {
  std::string low;
  for (const char c : text) low += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return low;
}

/// Without what tools put before an address, and in the kernel's separators.
std::string bare(std::string_view text) {
  std::string low = lower(text);
  if (low.starts_with("/sys/")) low = low.substr(low.rfind('/') + 1);
  if (low.starts_with("pci-") || low.starts_with("pci@")) return low.substr(4);
  if (!low.starts_with("pci_")) return low;
  low = low.substr(4);
  std::ranges::replace(low, '_', ':');
  if (const std::size_t last = low.rfind(':'); last != std::string::npos) low[last] = '.';
  return low;
}

SplitAddress partsOf(std::string_view text) {
  SplitAddress parts;
  if (const std::size_t dot = text.rfind('.'); dot != std::string_view::npos) {
    parts.function = text.substr(dot + 1);
    text = text.substr(0, dot);
  }
  for (std::size_t colon = 0; colon != std::string_view::npos;) {
    colon = text.find(':');
    parts.before.push_back(text.substr(0, colon));
    if (colon != std::string_view::npos) text.remove_prefix(colon + 1);
  }
  return parts;
}

/// A number of at most `digits` hex digits.
std::optional<std::uint32_t> number(std::string_view text, std::size_t digits) {
  if (text.empty() || text.size() > digits) return std::nullopt;
  const auto read = parseHexDigits(text, text.size());
  return read ? std::optional<std::uint32_t>(*read) : std::nullopt;
}

/// What an address says, in range or not.
struct Numbers {
  std::uint32_t segment = 0;
  std::uint32_t bus = 0;
  std::uint32_t device = 0;
  std::optional<std::uint32_t> function;
};

std::optional<Numbers> numbersOf(std::string_view text) {
  const std::string plain = bare(text);
  const SplitAddress parts = partsOf(plain);
  const std::size_t count = parts.before.size();
  if (count != 2 && count != 3) return std::nullopt;
  const auto segment = count == 3 ? number(parts.before[0], 8) : std::optional<std::uint32_t>(0);
  const auto bus = number(parts.before[count - 2], 2);
  const auto device = number(parts.before[count - 1], 2);
  if (!segment || !bus || !device) return std::nullopt;
  Numbers numbers{*segment, *bus, *device, std::nullopt};
  if (parts.function) {
    numbers.function = number(*parts.function, 2);
    if (!numbers.function) return std::nullopt;
  }
  return numbers;
}

}  // namespace

Result<Bdf, AddressTrouble> readAddress(std::string_view text) {
  const auto numbers = numbersOf(text);
  if (!numbers) return Failure{AddressTrouble::kOtherName};
  const std::uint32_t function = numbers->function.value_or(0);
  if (function > 7) return Failure{AddressTrouble::kOutOfRange};
  const auto address =
      Bdf::make(numbers->segment, static_cast<std::uint8_t>(numbers->bus),
                static_cast<std::uint8_t>(numbers->device), static_cast<std::uint8_t>(function));
  if (!address) return Failure{AddressTrouble::kOutOfRange};
  if (!numbers->function) return Failure{AddressTrouble::kNoFunction};
  return *address;
}

std::optional<std::string> deviceOfAllFunctions(std::string_view text) {
  const auto first = readAddress(std::string(text) + ".0");
  if (readAddress(text).has_value() || !first) return std::nullopt;
  const std::string address = first->str();
  return address.substr(0, address.size() - 1);
}

std::optional<Uuid> readUuid(std::string_view text) {
  const std::string low = lower(text.substr(text.rfind('/') + 1));
  const auto uuid = Uuid::parse(low);
  return uuid ? std::optional(*uuid) : std::nullopt;
}

std::optional<Bdf> functionInPath(std::string_view path) {
  while (!path.empty()) {
    const std::size_t slash = path.rfind('/');
    const std::string_view name = path.substr(slash == std::string_view::npos ? 0 : slash + 1);
    if (const auto address = Bdf::parse(name)) return *address;
    path = path.substr(0, slash == std::string_view::npos ? 0 : slash);
  }
  return std::nullopt;
}

}  // namespace vfiogate
