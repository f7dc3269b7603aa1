#include "plugind/core/resource/model_names.h"

#include <algorithm>
#include <utility>

#include "ipc/base/hex.h"

namespace vfiogate {
namespace {

constexpr std::uint16_t kNvidia = 0x10de;
constexpr std::size_t kLongestName = 63;
constexpr std::string_view kSpaces = " \t\n\f\r";

bool isSpace(char c) {
  return kSpaces.find(c) != std::string_view::npos;
}

bool isPlain(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string idsOf(const Model& model) {
  return hexDigits(model.vendor, 4) + "_" + hexDigits(model.device, 4);
}

/// A name ends in a letter or digit at both ends, or no kubelet takes it.
std::string_view trimmed(std::string_view name) {
  const std::size_t begin = name.find_first_not_of('_');
  if (begin == std::string_view::npos) return {};
  return name.substr(begin, name.find_last_not_of('_') - begin + 1);
}

/// True for what a model without a name could be called.
bool looksLikeIds(std::string_view name) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  const auto four = [&kDigits](std::string_view part) {
    return part.size() == 4 && part.find_first_not_of(kDigits) == std::string_view::npos;
  };
  return four(name) ||
         (name.size() == 9 && name[4] == '_' && four(name.substr(0, 4)) && four(name.substr(5)));
}

std::string followedByIds(std::string_view name, const Model& model) {
  const std::string ids = "_" + idsOf(model);
  return std::string(trimmed(name.substr(0, kLongestName - ids.size()))) + ids;
}

/// True for a name that pci.ids could make of the model. What has the form of ids only could be
/// another rule's, but for NVIDIA's, which stand alone.
bool couldBeMade(std::string_view name, const Model& model) {
  if (model.vendor == kNvidia && name == hexDigits(model.device, 4)) return true;
  const std::string ids = "_" + idsOf(model);
  if (name.ends_with(ids)) name.remove_suffix(ids.size());
  return !name.empty() && !looksLikeIds(name) && std::ranges::all_of(name, isPlain);
}

/// Names that the configuration gives by itself.
std::set<std::string> givenNames(const Settings& settings) {
  std::set<std::string> given;
  for (const ResourceSettings& entry : settings.resources) {
    if (entry.name) given.insert(entry.name->str());
  }
  for (const auto& [model, name] : settings.aliases) given.insert(name.str());
  return given;
}

std::optional<Model> modelOf(const Snapshot& hardware, const std::string& id) {
  const auto address = Bdf::parse(id);
  if (!address) return std::nullopt;
  const auto found = hardware.devices.find(*address);
  if (found == hardware.devices.end()) return std::nullopt;
  const PciDevice& device = found->second;
  if (!device.vendor || !device.device) return std::nullopt;
  return Model{*device.vendor, *device.device};
}

/// Which names the kubelet has for each model.
class Remembered {
public:
  Remembered(const Settings& settings, const Snapshot& hardware)
      : prefix_(settings.resourcePrefix), given_(givenNames(settings)), hardware_(hardware) {}

  void note(const std::string& resource, const std::set<std::string>& ids) {
    const auto name = ResourceName::parse(resource);
    if (!name || name->prefix() != prefix_ || given_.contains(resource)) return;
    for (const std::string& id : ids) {
      const auto model = modelOf(hardware_, id);
      if (model && couldBeMade(resource.substr(prefix_.size() + 1), *model)) {
        noted_[*model].insert(*name);
      }
    }
  }

  /// One for each model: of several the one that pci.ids still has.
  KeptNames kept(const ModelNames& names) const {
    KeptNames kept;
    for (const auto& [model, all] : noted_) {
      const auto made = ResourceName::parse(prefix_ + "/" + names.nameOf(Naming::kPciIds, model));
      kept.emplace(model, made && all.contains(*made) ? *made : *all.begin());
    }
    return kept;
  }

private:
  const std::string prefix_;
  const std::set<std::string> given_;
  const Snapshot& hardware_;
  std::map<Model, std::set<ResourceName>> noted_;
};

}  // namespace

std::string normalizedProduct(std::string_view product) {
  const std::size_t begin = product.find_first_not_of(kSpaces);
  if (begin == std::string_view::npos) return {};
  product = product.substr(begin, product.find_last_not_of(kSpaces) - begin + 1);
  std::string name;
  bool space = false;
  for (char c : product) {
    const bool before = std::exchange(space, isSpace(c));
    if (space) {
      if (!before) name += '_';
      continue;
    }
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    if (c == '/' || c == '.') c = '_';
    if (isPlain(c)) name += c;
  }
  return name;
}

ModelNames::ModelNames(std::shared_ptr<const ProductNames> products)
    : products_(std::move(products)) {
  std::map<std::string, std::uint16_t> owners;
  for (const auto& [model, product] : *products_) {
    std::string name(trimmed(normalizedProduct(product)));
    const auto owner = owners.try_emplace(std::move(name), model.vendor).first;
    if (owner->second != model.vendor) shared_.insert(owner->first);
  }
}

const std::string* ModelNames::product(const Model& model) const {
  const auto found = products_->find(model);
  return found == products_->end() ? nullptr : &found->second;
}

std::string ModelNames::nameOf(Naming naming, const Model& model) const {
  if (naming == Naming::kVendorDevice) return idsOf(model);
  if (naming == Naming::kPciVendorDevice) return "pci_" + idsOf(model);
  const bool nvidia = model.vendor == kNvidia;
  const std::string* known = product(model);
  const std::string whole = known == nullptr ? std::string() : normalizedProduct(*known);
  const std::string name(trimmed(whole));
  if (name.empty()) return nvidia ? hexDigits(model.device, 4) : idsOf(model);
  const bool taken = !nvidia && (shared_.contains(name) || looksLikeIds(name));
  return taken || name.size() > kLongestName ? followedByIds(name, model) : name;
}

KeptNames keptNames(const Settings& settings, const Snapshot& hardware,
                    const CheckpointVersion& memory, const ModelNames& names) {
  Remembered held(settings, hardware);
  for (const RecordedDevices& entry : memory.entries) held.note(entry.resource, entry.ids);
  Remembered registered(settings, hardware);
  for (const auto& [resource, ids] : memory.registered) registered.note(resource, ids);
  KeptNames kept = held.kept(names);
  kept.merge(registered.kept(names));
  return kept;
}

KeptNames keptNames(const Settings& settings, const Snapshot& hardware, const PodList& list,
                    const ModelNames& names) {
  Remembered held(settings, hardware);
  for (const ListedDevices& entry : list.devices) held.note(entry.resource, entry.ids);
  return held.kept(names);
}

std::optional<ResourceName> nameOfModel(const Settings& settings, const Model& model,
                                        const ModelNames& names) {
  const auto alias = settings.aliases.find(model);
  if (alias != settings.aliases.end()) return alias->second;
  const auto kept = names.kept().find(model);
  if (settings.naming == Naming::kPciIds && kept != names.kept().end()) return kept->second;
  return ResourceName::parse(settings.resourcePrefix + "/" + names.nameOf(settings.naming, model));
}

}  // namespace vfiogate
