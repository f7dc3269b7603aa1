#pragma once
// The kubelet's plugin watcher: whoever puts a socket into plugins_registry is asked who it is and
// registered (kubelet-contract.md 4, row K23).

#include "sim/kubelet/base/backoff.h"
#include "sim/kubelet/base/socket_tree.h"
#include "sim/kubelet/watcher_client.h"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace vfiogate::sim {

/// Who takes in the plugins that are found. Called from several threads, for one path by one at a
/// time.
class PluginConsumer {
public:
  virtual ~PluginConsumer() = default;
  /// Empty if the plugin, whose endpoint is a path now, is registered; else what it is to be told.
  virtual std::string adopt(const pluginregistration::PluginInfo& plugin) = 0;
  virtual void drop(const pluginregistration::PluginInfo& plugin) = 0;
};

/// At work from construction to destruction.
class PluginWatcher {
public:
  /// Throws std::system_error. `consumer` must outlive this.
  PluginWatcher(const std::string& directory, WatchLimits limits, PluginConsumer& consumer);
  /// Cancels what is under way, except in the consumer, and waits for it. Nobody is dropped.
  ~PluginWatcher();
  PluginWatcher(const PluginWatcher&) = delete;
  PluginWatcher& operator=(const PluginWatcher&) = delete;

private:
  struct Path {
    explicit Path(const WatchLimits& limits) : backoff(limits.firstRetry, limits.longestRetry) {}
    Backoff backoff;               ///< outlives the socket
    std::uint64_t registered = 0;  ///< the socket's number, 0: it is not
    pluginregistration::PluginInfo plugin;
    bool busy = false;
    std::shared_ptr<WatcherClient> client;  ///< while it is busy with one
    std::thread worker;
  };

  void run();
  void pass();
  void registerAt(const std::string& socketPath, std::uint64_t number, Path& path);
  bool registerWith(WatcherClient& client, const std::string& socketPath,
                    pluginregistration::PluginInfo& plugin);
  void deregister(Path& path);

  const WatchLimits limits_;
  PluginConsumer& consumer_;
  SocketTree tree_;  ///< the looking thread's
  int stop_;         ///< an eventfd
  std::mutex mutex_;
  std::map<std::string, Path> paths_;  ///< an entry stays for ever
  std::thread polling_;
};

}  // namespace vfiogate::sim
