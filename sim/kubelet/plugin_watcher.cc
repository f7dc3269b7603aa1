#include "sim/kubelet/plugin_watcher.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

namespace vfiogate::sim {

using Clock = std::chrono::steady_clock;

PluginWatcher::PluginWatcher(const std::string& directory, WatchLimits limits,
                             PluginConsumer& consumer)
    : limits_(limits), consumer_(consumer), tree_(directory), stop_(eventfd(0, EFD_CLOEXEC)) {
  if (stop_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  polling_ = std::thread([this]() { run(); });
}

PluginWatcher::~PluginWatcher() {
  eventfd_write(stop_, 1);
  polling_.join();
  {
    const std::lock_guard lock(mutex_);
    for (auto& [name, path] : paths_) {
      if (path.client) path.client->cancel();
    }
  }
  for (auto& [name, path] : paths_) {
    if (path.worker.joinable()) path.worker.join();
  }
  close(stop_);
}

void PluginWatcher::run() {
  auto next = Clock::now();
  std::array<pollfd, 2> waiting{{{stop_, POLLIN, 0}, {tree_.fd(), POLLIN, 0}}};
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now()).count();
    const int ready = poll(waiting.data(), waiting.size(), static_cast<int>(std::max(0L, left)));
    if (waiting[0].revents != 0) return;
    if (ready > 0) tree_.update();
    if (Clock::now() < next) continue;
    pass();
    next = Clock::now() + limits_.every;
  }
}

void PluginWatcher::pass() {
  const std::lock_guard lock(mutex_);
  for (auto& [name, path] : paths_) {
    if (path.busy) continue;
    if (path.worker.joinable()) path.worker.join();  // it has ended
    const auto socket = tree_.sockets().find(name);
    const std::uint64_t number = socket == tree_.sockets().end() ? 0 : socket->second;
    if (path.registered == 0 || path.registered == number) continue;
    path.busy = true;
    path.worker = std::thread([this, &ended = path]() { deregister(ended); });
  }
  for (const auto& [name, number] : tree_.sockets()) {
    Path& path = paths_.try_emplace(name, limits_).first->second;
    if (path.busy || path.registered != 0 || !path.backoff.mayTry(Clock::now())) continue;
    path.busy = true;
    path.client = std::make_shared<WatcherClient>(name);
    path.worker =
        std::thread([this, at = name, as = number, &path]() { registerAt(at, as, path); });
  }
}

void PluginWatcher::registerAt(const std::string& socketPath, std::uint64_t number, Path& path) {
  pluginregistration::PluginInfo plugin;
  const bool registered = registerWith(*path.client, socketPath, plugin);
  const std::lock_guard lock(mutex_);
  path.client.reset();  // the connection closes, whatever became of it
  path.busy = false;
  if (registered) {
    path.registered = number;
    path.plugin = plugin;
    path.backoff.succeeded();
  } else {
    path.backoff.failed(Clock::now());
  }
}

bool PluginWatcher::registerWith(WatcherClient& client, const std::string& socketPath,
                                 pluginregistration::PluginInfo& plugin) {
  if (!client.connect(limits_.dial)) return false;
  if (!client.info(plugin, limits_.info).ok()) return false;
  if (plugin.endpoint().empty()) plugin.set_endpoint(socketPath);
  const std::string error = consumer_.adopt(plugin);
  if (!error.empty()) {
    static_cast<void>(client.notify(error, limits_.notify));
    return false;
  }
  if (client.notify("", limits_.notify).ok()) return true;
  consumer_.drop(plugin);
  return false;
}

void PluginWatcher::deregister(Path& path) {
  consumer_.drop(path.plugin);
  const std::lock_guard lock(mutex_);
  path.registered = 0;
  path.busy = false;
}

}  // namespace vfiogate::sim
