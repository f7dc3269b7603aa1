#pragma once
// Several who ask one plugin at the same moment.

#include "tests/bench/plugin_client.h"

#include <string>
#include <vector>

namespace vfiogate::bench {

/// Each has a connection and a thread of its own.
class Callers {
public:
  /// `socket`: as PluginClient.
  Callers(const std::string& socket, unsigned count);

  std::size_t count() const { return clients_.size(); }

  /// One Allocate by each, of these requests in turn, one for each.
  std::vector<PluginClient::Answer> allocate(const std::vector<Devices>& requests);
  /// One GetDevicePluginOptions by each.
  std::vector<Took> callEmpty();

private:
  std::vector<PluginClient> clients_;
};

}  // namespace vfiogate::bench
