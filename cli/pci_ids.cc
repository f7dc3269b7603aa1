#include "cli/pci_ids.h"

#include "ipc/base/hex.h"

#include <array>
#include <fstream>
#include <sstream>

namespace vfiogate {
namespace {

/// "10de  NVIDIA Corporation", without its indentation.
struct Entry {
  std::uint32_t id;
  std::string name;
};

std::optional<Entry> entryOf(std::string_view line, std::size_t digits) {
  const auto id = parseHexDigits(line.substr(0, digits), digits);
  if (!id || line.substr(digits, 2) != "  ") return std::nullopt;
  const std::string_view name = line.substr(digits + 2);
  if (name.empty()) return std::nullopt;
  return Entry{*id, std::string(name)};
}

std::optional<std::string> find(const auto& names, const auto& key) {
  const auto found = names.find(key);
  if (found == names.end()) return std::nullopt;
  return found->second;
}

/// What ends the names of firms, with what may stand before it.
constexpr std::array<std::string_view, 18> kFirmEndings{"and subsidiaries",
                                                        "Incorporated",
                                                        "Corporation",
                                                        "Corp.",
                                                        "Corp",
                                                        "Inc.",
                                                        "Inc",
                                                        "Limited",
                                                        "Ltd.",
                                                        "Ltd",
                                                        "Company",
                                                        "Co.",
                                                        "Co",
                                                        "LLC",
                                                        "GmbH",
                                                        "Technologies",
                                                        "Technology",
                                                        "AG"};

/// `name` without one of them, and without what joined it; as it is where there is none.
std::string_view withoutEnding(std::string_view name) {
  for (const std::string_view ending : kFirmEndings) {
    if (!name.ends_with(ending) || name.size() == ending.size()) continue;
    const std::string_view rest = name.substr(0, name.size() - ending.size());
    if (rest.back() != ' ' && rest.back() != ',') continue;
    const std::size_t last = rest.find_last_not_of(" ,");
    if (last != std::string_view::npos) return rest.substr(0, last + 1);
  }
  return name;
}

}  // namespace

std::string briefVendor(std::string_view name) {
  if (const std::size_t open = name.rfind('['); name.ends_with(']') && open > 0) {
    if (open != std::string_view::npos && open + 2 < name.size()) {
      return std::string(name.substr(open + 1, name.size() - open - 2));
    }
  }
  for (std::string_view brief = withoutEnding(name); brief != name; brief = withoutEnding(name)) {
    name = brief;
  }
  return std::string(name);
}

PciIds PciIds::parse(std::string_view text) {
  PciIds ids;
  std::optional<std::uint32_t> vendor;
  std::optional<std::uint32_t> baseClass;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty() || line.front() == '#' || line.starts_with("\t\t")) continue;
    if (line.front() == '\t') {
      const std::string_view rest = line.substr(1);
      if (vendor) {
        if (auto entry = entryOf(rest, 4)) ids.devices_[{*vendor, entry->id}] = entry->name;
      } else if (baseClass) {
        if (auto entry = entryOf(rest, 2))
          ids.subclasses_[*baseClass << 8U | entry->id] = entry->name;
      }
      continue;
    }
    vendor.reset();
    baseClass.reset();
    if (line.starts_with("C ")) {
      if (auto entry = entryOf(line.substr(2), 2)) {
        baseClass = entry->id;
        ids.baseClasses_[entry->id] = entry->name;
      }
    } else if (auto entry = entryOf(line, 4)) {
      vendor = entry->id;
      ids.vendors_[entry->id] = entry->name;
    }
  }
  return ids;
}

PciIds PciIds::load(const std::string& path) {
  const std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return parse(text.str());
}

std::optional<std::string> PciIds::vendor(std::uint16_t vendor) const {
  return find(vendors_, std::uint32_t{vendor});
}

std::optional<std::string> PciIds::device(std::uint16_t vendor, std::uint16_t device) const {
  return find(devices_, std::pair<std::uint32_t, std::uint32_t>(vendor, device));
}

std::optional<std::string> PciIds::className(std::uint32_t classCode) const {
  const auto subclass = find(subclasses_, classCode >> 8U);
  return subclass ? subclass : find(baseClasses_, classCode >> 16U);
}

}  // namespace vfiogate
