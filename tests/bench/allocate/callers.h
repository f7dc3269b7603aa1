#pragma once
// Several who ask one plugin at the same moment.

#include "tests/bench/plugin_client.h"

#include <functional>
#include <string>
#include <vector>

namespace vfiogate::bench {

/// Each has a connection and a thread of its own.
class Callers {
public:
  /// `kubeletDirectory`: as PluginClient.
  Callers(const std::string& kubeletDirectory, unsigned count);

  std::size_t count() const { return clients_.size(); }

  /// One Allocate by each, of these requests in turn, one for each; throws where one is refused.
  std::vector<Took> allocate(const std::vector<Devices>& requests);
  /// One GetDevicePluginOptions by each.
  std::vector<Took> callEmpty();

private:
  using Call = std::function<Took(PluginClient&, std::size_t)>;
  std::vector<Took> atOnce(const Call& call);

  std::vector<PluginClient> clients_;
};

}  // namespace vfiogate::bench
