#pragma once
// What becomes of the plugins that the watcher finds.

#include "sim/kubelet/kubelet_sim.h"
#include "sim/kubelet/plugin_watcher.h"

#include <string>

namespace vfiogate::sim {

/// A device plugin is served as if it had called Register, a DRA driver is connected to. A CSI
/// driver is only remembered.
class KubeletSim::WatchedPlugins final : public PluginConsumer {
public:
  explicit WatchedPlugins(KubeletSim& kubelet) : kubelet_(kubelet) {}

  std::string adopt(const pluginregistration::PluginInfo& plugin) override;
  void drop(const pluginregistration::PluginInfo& plugin) override;

private:
  KubeletSim& kubelet_;
};

}  // namespace vfiogate::sim
