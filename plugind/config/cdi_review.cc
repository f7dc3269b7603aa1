#include "plugind/config/cdi_review.h"

#include <algorithm>
#include <set>

#include "ipc/base/cdi_kind.h"
#include "ipc/base/hex.h"
#include "plugind/core/resource/resource_catalog.h"

namespace vfiogate {
namespace {

using Ids = std::vector<std::string>;

constexpr const char* kWhatWouldDo =
    "a letter and more after the '/' (and in the domain), and no dot after it";

const Ids* idsOf(const Selector& select, SelectorKey key) {
  const auto found = select.values().find(key);
  return found == select.values().end() ? nullptr : &found->second;
}

std::uint16_t numberOf(const std::string& id) {
  return static_cast<std::uint16_t>(parseHexDigits(id, 4).value_or(0));
}

/// True if the entry may select the model.
bool maySelect(const Selector& select, const Model& model) {
  const auto has = [](const Ids* ids, std::uint16_t number) {
    return ids == nullptr || std::ranges::find(*ids, hexDigits(number, 4)) != ids->end();
  };
  return has(idsOf(select, SelectorKey::kVendor), model.vendor) &&
         has(idsOf(select, SelectorKey::kDevice), model.device);
}

/// The names that the entry is known to make, with the ids alone where they are all that is known:
/// which digits follow decides nothing.
std::set<ResourceName> knownNames(const Settings& settings, const Selector& select) {
  std::set<ResourceName> names;
  const Ids* devices = idsOf(select, SelectorKey::kDevice);
  const Ids* vendors = idsOf(select, SelectorKey::kVendor);
  const Ids any{"0000"};
  const bool prefixed = settings.naming == Naming::kPciVendorDevice;
  if (vendors == nullptr && prefixed) vendors = &any;
  for (const std::string& vendor : vendors != nullptr ? *vendors : Ids()) {
    for (const std::string& device : devices != nullptr ? *devices : any) {
      const auto name = nameOfModel(settings, {numberOf(vendor), numberOf(device)});
      if (name) names.insert(*name);
    }
  }
  for (const auto& [model, name] : settings.aliases) {
    if (maySelect(select, model)) names.insert(name);
  }
  return names;
}

void reviewMade(const Settings& settings, const ResourceSettings& entry, const std::string& path,
                Findings& findings) {
  for (const ResourceName& name : knownNames(settings, entry.select)) {
    if (isCdiKind(name)) continue;
    findings.refuse(path, "makes " + name.str() + ", which is no CDI kind: wanted is " +
                              kWhatWouldDo +
                              "; give the entry a `name`, or set naming: pci_vendor_device");
  }
  const bool known = idsOf(entry.select, SelectorKey::kVendor) != nullptr;
  if (known || settings.naming == Naming::kPciVendorDevice) return;
  findings.warn(path,
                "names made of ids that begin with a digit are no CDI kinds, and their devices are "
                "not offered; give the entry a `name`, or set naming: pci_vendor_device");
}

}  // namespace

void reviewCdiKinds(const Settings& settings, Findings& findings) {
  if (std::ranges::any_of(settings.resources,
                          [](const ResourceSettings& entry) { return needsSpec(entry.lending); })) {
    findings.hint("", "privd writes CDI specs only with cdi among its --plugind-rights");
  }
  for (std::size_t i = 0; i < settings.resources.size(); ++i) {
    const ResourceSettings& entry = settings.resources[i];
    if (!needsSpec(entry.lending)) continue;
    const std::string path = "resources[" + std::to_string(i) + "]";
    if (!entry.name) {
      reviewMade(settings, entry, path + (entry.lending.injectCdi ? ".inject" : ".kata"), findings);
    } else if (!isCdiKind(*entry.name)) {
      findings.refuse(path + ".name", entry.name->str() +
                                          " is no CDI kind, which inject: cdi and "
                                          "kata: true need: wanted is " +
                                          kWhatWouldDo + ", such as " +
                                          std::string(entry.name->prefix()) + "/gpu");
    }
  }
}

}  // namespace vfiogate
