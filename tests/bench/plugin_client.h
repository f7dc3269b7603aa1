#pragma once
// The same client for every device plugin that is measured.

#include "proto/deviceplugin.grpc.pb.h"
#include "tests/bench/node_under_test.h"

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <vector>

namespace vfiogate::bench {

/// What one request asks for, each by its id.
using Devices = std::vector<std::string>;

/// How long a call takes; throws, with `who` in front, where it fails. `call`: takes the context,
/// and returns the status.
template <typename Call>
Took timeCall(const std::string& who, const Call& call) {
  grpc::ClientContext context;
  const auto began = Clock::now();
  const grpc::Status status = call(context);
  const Took took = Clock::now() - began;
  if (!status.ok()) giveUp(who + ": " + status.error_message());
  return took;
}

/// Of the plugin that serves beside kubelet.sock; `kubeletDirectory`: above device-plugins. Throws,
/// in words, where there is none.
std::string pluginSocket(const std::string& kubeletDirectory);

/// One connection to a device plugin; the calls go past the kubelet.
class PluginClient {
public:
  /// Throws, in words, where nobody serves on this socket.
  explicit PluginClient(const std::string& socket);

  /// Those that the first frame of a ListAndWatch shows as healthy; throws where none comes.
  Devices healthyDevices();

  struct Answer {
    Took took;
    grpc::Status status;
    v1beta1::AllocateResponse response;
  };
  /// One Allocate of these devices for one container.
  Answer allocate(const Devices& devices);
  /// One GetPreferredAllocation: which `count` of these devices.
  Took prefer(const Devices& available, int count);
  /// One GetDevicePluginOptions, which says nothing and asks nobody.
  Took callEmpty();

private:
  std::unique_ptr<v1beta1::DevicePlugin::Stub> plugin_;
};

}  // namespace vfiogate::bench
