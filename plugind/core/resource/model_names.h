#pragma once
// How the models of devices are called: by pci.ids, and in the names of resources.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "ipc/base/kube_names.h"
#include "ipc/types/snapshot.h"
#include "plugind/core/kubelet_memory.h"
#include "plugind/core/settings.h"

namespace vfiogate {

/// What pci.ids calls each model that it knows: "AD102 [GeForce RTX 4090]".
using ProductNames = std::map<Model, std::string>;

/// "AD102_GEFORCE_RTX_4090": upper case, '/' and '.' as '_', each run of white space as one '_',
/// nothing else but letters, digits and '_'. Empty: nothing is left.
/// Source: NVIDIA's kubevirt-gpu-device-plugin, pkg/device_plugin/device_plugin.go (getDeviceName).
std::string normalizedProduct(std::string_view product);

/// Names of resources that models have on this node already.
using KeptNames = std::map<Model, ResourceName>;

/// Names for devices whose entry of `resources` has none. What a model is called depends on the
/// model and on pci.ids alone, never on what else a node has: with one pci.ids and nothing kept all
/// nodes call it the same.
class ModelNames {
public:
  /// Without pci.ids: no product has a name.
  ModelNames() : ModelNames(std::make_shared<const ProductNames>()) {}
  explicit ModelNames(std::shared_ptr<const ProductNames> products);

  /// Null: pci.ids does not know the model.
  const std::string* product(const Model& model) const;

  /// The part after the '/' by the naming rule. By pci.ids: as normalizedProduct(), without a '_'
  /// at either end, and followed by the ids where it is too long for a name or is the name of
  /// another vendor's model, too; NVIDIA's names are never another vendor's. What pci.ids does not
  /// know is called "2684" if it is NVIDIA's, as NVIDIA's plugin does, and "8086_1533" otherwise.
  std::string nameOf(Naming naming, const Model& model) const;

  /// With naming: pci-ids these names stand, whatever pci.ids says.
  void keep(KeptNames kept) { kept_ = std::move(kept); }
  const KeptNames& kept() const { return kept_; }

private:
  std::shared_ptr<const ProductNames> products_;
  KeptNames kept_;
  std::set<std::string> shared_;  ///< normalized names that models of several vendors have
};

/// The names that the kubelet's memory has for models of devices that are there, as another pci.ids
/// made them: a container's devices first, then what is registered. Not a name that the
/// configuration gives to something else, nor one that only another naming rule makes.
KeptNames keptNames(const Settings& settings, const Snapshot& hardware,
                    const CheckpointVersion& memory, const ModelNames& names);
/// As much of that as PodResources List tells: the devices of containers.
KeptNames keptNames(const Settings& settings, const Snapshot& hardware, const PodList& list,
                    const ModelNames& names);

/// The resource of devices of a model whose entry has no name: its alias, the name that was kept,
/// or what the naming rule makes. Null: not one that a kubelet takes.
std::optional<ResourceName> nameOfModel(const Settings& settings, const Model& model,
                                        const ModelNames& names);

}  // namespace vfiogate
