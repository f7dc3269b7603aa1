#include "plugind/config/config_message.h"

#include <optional>
#include <set>

#include "ipc/base/hex.h"
#include "ipc/base/kube_names.h"
#include "plugind/config/schema_words.h"
#include "plugind/config/settings_review.h"
#include "plugind/core/refusal.h"

namespace vfiogate {
namespace {

using google::protobuf::FieldDescriptor;

std::string indexed(const std::string& path, int index) {
  return path + "[" + std::to_string(index) + "]";
}

std::optional<ResourceName> readName(const std::string& text, const std::string& path,
                                     const Settings& settings, Findings& findings) {
  auto name = ResourceName::parse(text);
  if (name) return name;
  if (ResourceName::parse(settings.resourcePrefix + "/" + text)) {
    findings.refuse(path, "found " + quoteForeign(text) +
                              "; write the full name: " + settings.resourcePrefix + "/" + text);
  } else {
    findings.refuse(path, "found " + quoteForeign(text) +
                              "; write PREFIX/NAME: PREFIX a lower-case domain outside "
                              "kubernetes.io, NAME 1 to 63 of A-Z a-z 0-9 - _ . between two "
                              "letters or digits");
  }
  return std::nullopt;
}

std::optional<Model> readModel(const std::string& text) {
  if (text.size() != 9 || text[4] != ':') return std::nullopt;
  const auto vendor = parseHexDigits(text.substr(0, 4), 4);
  const auto device = parseHexDigits(text.substr(5), 4);
  if (!vendor || !device) return std::nullopt;
  return Model{static_cast<std::uint16_t>(*vendor), static_cast<std::uint16_t>(*device)};
}

void readAliases(const plugind_config::Config& message, Settings& settings, Findings& findings) {
  // A protobuf map has no order of its own; messages should not change from run to run.
  const std::map<std::string, std::string> sorted(message.aliases().begin(),
                                                  message.aliases().end());
  for (const auto& [key, value] : sorted) {
    const std::string path = "aliases." + key.substr(0, 64);
    const auto model = readModel(key);
    if (!model) {
      findings.refuse(path, "found key " + quoteForeign(key) + "; write ids such as 10de:2684");
      continue;
    }
    const auto name = readName(value, path, settings, findings);
    if (name && !settings.aliases.emplace(*model, *name).second) {
      findings.refuse(path, "the same ids are given twice; remove one");
    }
  }
}

Selector readSelect(const plugind_config::Select& select, const std::string& path,
                    Findings& findings) {
  Selector selector;
  const auto& reflection = *select.GetReflection();
  bool named = false;
  for (int i = 0; i < select.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *select.GetDescriptor()->field(i);
    const int count = reflection.FieldSize(select, &field);
    for (int item = 0; item < count; ++item) {
      named = true;
      const std::string value =
          field.cpp_type() == FieldDescriptor::CPPTYPE_UINT32
              ? std::to_string(reflection.GetRepeatedUInt32(select, &field, item))
              : reflection.GetRepeatedString(select, &field, item);
      const auto added = selector.add(keyOf(field), value);
      if (added) continue;
      const std::string key = path + "." + keyOf(field);
      findings.refuse(count > 1 ? indexed(key, item) : key, added.error().text);
    }
  }
  if (!named) {
    findings.refuse(path, "selects every device; name at least one key, such as vendor");
  }
  return selector;
}

Naming toNaming(plugind_config::Config::Naming naming) {
  switch (naming) {
    case plugind_config::Config::PCI_VENDOR_DEVICE:
      return Naming::kPciVendorDevice;
    case plugind_config::Config::PCI_IDS:
      return Naming::kPciIds;
    case plugind_config::Config::VENDOR_DEVICE:
      break;
  }
  return Naming::kVendorDevice;
}

Backend toBackend(const plugind_config::Resource& resource) {
  switch (resource.backend()) {
    case plugind_config::Resource::LEGACY:
      return Backend::kLegacy;
    case plugind_config::Resource::IOMMUFD:
      return Backend::kIommufd;
    case plugind_config::Resource::BOTH:
      return Backend::kBoth;
    case plugind_config::Resource::NOIOMMU:
      return Backend::kNoIommu;
    case plugind_config::Resource::AUTO:
      break;
  }
  const bool iommufd = resource.prefer() == plugind_config::Resource::PREFER_IOMMUFD;
  return iommufd ? Backend::kAutoIommufd : Backend::kAuto;
}

GroupUnit toGroupUnit(plugind_config::Resource::GroupUnit unit) {
  switch (unit) {
    case plugind_config::Resource::ALL:
      return GroupUnit::kAll;
    case plugind_config::Resource::WHOLE:
      return GroupUnit::kWhole;
    case plugind_config::Resource::ONE:
      break;
  }
  return GroupUnit::kOne;
}

Companions toCompanions(plugind_config::Resource::Companions companions) {
  switch (companions) {
    case plugind_config::Resource::ADVERTISE:
      return Companions::kAdvertise;
    case plugind_config::Resource::ATTACH:
      return Companions::kAttach;
    case plugind_config::Resource::HIDE:
      break;
  }
  return Companions::kHide;
}

Serve toServe(plugind_config::Resource::Serve serve) {
  switch (serve) {
    case plugind_config::Resource::DRA:
      return Serve::kDra;
    case plugind_config::Resource::PLUGIN_AND_DRA:
      return Serve::kBoth;
    case plugind_config::Resource::PLUGIN:
      break;
  }
  return Serve::kPlugin;
}

/// The variables that are wanted, as numbers of Environment.
std::set<int> wantedVariables(const plugind_config::Resource& resource, const std::string& path,
                              Findings& findings) {
  std::set<int> wanted;
  for (const int one : resource.env()) {
    if (!wanted.insert(one).second) findings.refuse(path + ".env", "a value is named twice");
  }
  const bool none = wanted.contains(plugind_config::Resource::NONE);
  if (none && wanted.size() > 1) {
    findings.refuse(path + ".env", "none stands beside another value; remove one of them");
  }
  return wanted;
}

/// The units of one set. What is no unit is refused, and left out.
std::set<UnitId> readUnits(const plugind_config::Set& set, const std::string& path,
                           Findings& findings) {
  std::set<UnitId> units;
  for (int i = 0; i < set.devices_size(); ++i) {
    const std::string place = indexed(path + ".devices", i);
    const auto unit = UnitId::parse(set.devices(i));
    if (!unit) {
      findings.refuse(place, "found " + quoteForeign(set.devices(i)) +
                                 "; write a whole address such as 0000:17:00.0, or the UUID of a "
                                 "mediated device");
    } else if (!units.insert(*unit).second) {
      findings.refuse(place, unit->str() + " is named twice in this set; remove one");
    }
  }
  if (set.devices_size() == 0) {
    findings.refuse(path + ".devices", "a set needs a device: name the addresses of its devices");
  }
  return units;
}

std::vector<DeviceSet> readSets(const plugind_config::Resource& resource, const std::string& path,
                                Findings& findings) {
  std::vector<DeviceSet> sets;
  for (int i = 0; i < resource.sets_size(); ++i) {
    const plugind_config::Set& set = resource.sets(i);
    const std::string place = indexed(path + ".sets", i);
    if (!isSetName(set.name())) {
      findings.refuse(place + ".name", "found " + quoteForeign(set.name()) + "; write 1 to " +
                                           std::to_string(kLongestSetName) +
                                           " of a-z 0-9 -, not beginning or ending with -");
    }
    sets.push_back({set.name(), readUnits(set, place, findings)});
  }
  if (resource.has_select()) {
    findings.refuse(path + ".select", "stands beside sets, which name their devices; remove one");
  }
  if (resource.name().empty()) {
    findings.refuse(path + ".name", "a resource of sets needs a name, such as vfiogate.dev/pair");
  }
  return sets;
}

/// `count` may be left out of sets, which have their devices written down.
std::optional<MoreDevices> readMore(const plugind_config::More& more,
                                    const std::vector<DeviceSet>& sets, const std::string& path,
                                    const Settings& settings, Findings& findings) {
  std::size_t count = more.count();
  if (!more.has_count() && !sets.empty() && !sets.front().units.empty()) {
    count = sets.front().units.size() - 1;
  }
  if (count == 0 || count >= kMostSetUnits) {
    findings.refuse(path + ".count", "of one device of the resource at least 1 and less than " +
                                         std::to_string(kMostSetUnits) +
                                         ": how many go along with its first");
  }
  const auto name = readName(more.name(), path + ".name", settings, findings);
  return name ? std::optional(MoreDevices{*name, count}) : std::nullopt;
}

ResourceSettings readResource(const plugind_config::Resource& resource, const std::string& path,
                              const Settings& settings, Findings& findings) {
  ResourceSettings entry;
  if (!resource.name().empty()) {
    entry.name = readName(resource.name(), path + ".name", settings, findings);
  }
  if (resource.sets_size() > 0) {
    entry.sets = readSets(resource, path, findings);
    entry.setsOverlap = resource.overlap() == plugind_config::Resource::EXCLUDE;
  } else {
    // An absent selector is the empty one.
    const bool named = resource.has_select();
    entry.select = readSelect(resource.select(), named ? path + ".select" : path, findings);
    if (resource.overlap() == plugind_config::Resource::EXCLUDE) {
      findings.warn(path + ".overlap", "no effect without sets");
    }
  }
  entry.allocation.backend = toBackend(resource);
  if (resource.has_prefer() && resource.backend() != plugind_config::Resource::AUTO) {
    findings.warn(path + ".prefer", "no effect but with backend: auto, which alone has a choice");
  }
  entry.allocation.groupUnit = toGroupUnit(resource.group_unit());
  entry.allocation.companions = toCompanions(resource.companions());
  entry.allocation.onAllocate = resource.bind() == plugind_config::Resource::ON_ALLOCATE;
  entry.allocation.returnToOriginal = resource.return_to() == plugind_config::Resource::ORIGINAL;
  entry.allocation.injectCdi = resource.inject() == plugind_config::Resource::CDI;
  entry.allocation.kata = resource.kata();
  entry.allocation.serve = toServe(resource.serve());
  const std::set<int> variables = wantedVariables(resource, path, findings);
  entry.allocation.kubevirtVariable = variables.contains(plugind_config::Resource::KUBEVIRT);
  entry.allocation.sriovVariable = variables.contains(plugind_config::Resource::SRIOV);
  if (resource.has_more()) {
    entry.allocation.more =
        readMore(resource.more(), entry.sets, path + ".more", settings, findings);
  }
  entry.allocation.iommufdSocket = resource.iommufd_socket();
  entry.allocation.besideNic = resource.align_with() == plugind_config::Resource::NIC;
  return entry;
}

DraSettings readDra(const plugind_config::Dra& dra, Findings& findings) {
  if (!dra.driver().empty() && !isDraDriver(dra.driver())) {
    findings.refuse("dra.driver",
                    "found " + quoteForeign(dra.driver()) +
                        "; write a lower-case domain of at most 63 characters that begins with a "
                        "letter, such as vfio.vfiogate.dev");
  }
  return {.driver = dra.driver(), .metadataFiles = dra.metadata_files()};
}

}  // namespace

Settings toSettings(const plugind_config::Config& message, Findings& findings) {
  Settings settings;
  if (ResourceName::parse(message.resource_prefix() + "/x")) {
    settings.resourcePrefix = message.resource_prefix();
  } else {
    findings.refuse("resourcePrefix", "found " + quoteForeign(message.resource_prefix()) +
                                          "; write a lower-case domain such as vfiogate.dev");
  }
  settings.naming = toNaming(message.naming());
  readAliases(message, settings, findings);
  for (int i = 0; i < message.exclude_size(); ++i) {
    settings.exclude.push_back(readSelect(message.exclude(i), indexed("exclude", i), findings));
  }
  for (int i = 0; i < message.resources_size(); ++i) {
    const std::string path = indexed("resources", i);
    settings.resources.push_back(readResource(message.resources(i), path, settings, findings));
  }
  settings.dra = readDra(message.dra(), findings);
  settings.grace = std::chrono::milliseconds(message.grace());
  settings.refusalDetail = message.refusal_detail() == plugind_config::Config::FULL
                               ? RefusalDetail::kFull
                               : RefusalDetail::kReference;
  settings.emptyResourceAfter = std::chrono::milliseconds(message.empty_resource_after());
  settings.holdDown = std::chrono::milliseconds(message.hold_down());
  settings.bindDeadline = std::chrono::milliseconds(message.bind_deadline());
  settings.allocateWait = std::chrono::milliseconds(message.allocate_wait());
  return settings;
}

}  // namespace vfiogate
