#include "sim/kubelet/watched_plugins.h"

#include "sim/kubelet/dra.h"
#include "sim/kubelet/sim_state.h"

#include <algorithm>
#include <array>

namespace vfiogate::sim {
namespace {

using Info = pluginregistration::PluginInfo;

constexpr const char* kDevicePlugin = "DevicePlugin";
constexpr const char* kDraPlugin = "DRAPlugin";
/// By type, the versions of which the first in the plugin's own list is used; none: any will do.
std::map<std::string, std::vector<std::string>> knownVersions(const KubeletOptions& options) {
  return {{"CSIPlugin", {}}, {kDevicePlugin, {"v1beta1"}}, {kDraPlugin, options.dra.services}};
}

/// Empty if none of the plugin's is known.
std::string versionOf(const Info& plugin, const KubeletOptions& options) {
  const auto known = knownVersions(options).at(plugin.type());
  for (const std::string& version : plugin.supported_versions()) {
    if (known.empty() || std::ranges::find(known, version) != known.end()) return version;
  }
  return "";
}

std::string lineOf(const Info& plugin, const KubeletOptions& options) {
  return plugin.type() + " " + plugin.name() + " " + versionOf(plugin, options);
}

}  // namespace

std::string KubeletSim::WatchedPlugins::adopt(const Info& plugin) {
  const KubeletOptions& options = kubelet_.state_->options;
  if (!knownVersions(options).contains(plugin.type())) {
    return "no handler for plugins of type \"" + plugin.type() + "\"";
  }
  if (plugin.name().empty()) return "a plugin must have a name";
  if (versionOf(plugin, options).empty()) {
    return "none of the versions of " + plugin.name() + " is supported";
  }
  if (plugin.type() == kDevicePlugin) {
    if (!isExtendedResourceName(plugin.name())) return "invalid resource name " + plugin.name();
    const auto limit = std::chrono::system_clock::now() + options.dialWithin;
    std::string error = kubelet_.serveFrom(plugin.name(), plugin.endpoint(), limit, std::nullopt);
    if (!error.empty()) return error;
  }
  if (plugin.type() == kDraPlugin) {
    const auto dra = kubelet_.state_->draNow();
    if (dra == nullptr) return "the kubelet stops";
    std::string error =
        dra->plugins().add(plugin.name(), plugin.endpoint(), versionOf(plugin, options));
    if (!error.empty()) return error;
  }
  State& state = *kubelet_.state_;
  const std::lock_guard lock(state.mutex);
  state.watchedPlugins.insert(lineOf(plugin, options));
  state.tell("the watcher registered " + lineOf(plugin, options));
  state.changed.notify_all();
  return "";
}

void KubeletSim::WatchedPlugins::drop(const Info& plugin) {
  State& state = *kubelet_.state_;
  const auto dra = state.draNow();
  if (plugin.type() == kDraPlugin && dra != nullptr) {
    dra->plugins().remove(plugin.name(), plugin.endpoint());
  }
  const std::lock_guard lock(state.mutex);
  const auto line = state.watchedPlugins.find(lineOf(plugin, state.options));
  if (line != state.watchedPlugins.end()) state.watchedPlugins.erase(line);
  if (plugin.type() == kDevicePlugin) state.disconnect(plugin.name());
  state.tell("the watcher dropped " + lineOf(plugin, state.options));
  state.changed.notify_all();
}

}  // namespace vfiogate::sim
