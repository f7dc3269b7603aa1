#pragma once
// One resource as the kubelet sees it: server, registration, live streams, the frame they show.

#include "plugind/core/status/status.h"
#include "plugind/kubelet/list_watch_stream.h"
#include "plugind/kubelet/plugin_server.h"
#include "plugind/kubelet/registrar.h"

#include <memory>
#include <optional>
#include <vector>

namespace vfiogate {

/// Serves and registers from its making to its end, which is when `emptyResourceAfter` says so: a
/// resource that lost its devices still has them in its frame (kubelet-contract.md T5). The loop's
/// thread only.
class AdvertisedResource {
public:
  /// Borrows `events`, `sockets` and the parts of the loop.
  AdvertisedResource(ResourceName name, PluginEvents& events, KubeletSockets& sockets,
                     const LoopDeps& loop, uid_t kubeletUid);
  KJ_DISALLOW_COPY(AdvertisedResource);

  Registrar& registrar() { return registrar_; }

  /// Hands `frame` to every live stream if it differs from the one before.
  void show(const Frame& frame);

  /// Whether containers start only after PreStartContainer. The kubelet asks for that once a
  /// registration: one that was told otherwise is ended, and made anew.
  void wantPreStart(bool wanted);

  /// Sends the frame again on the newest live stream, changed or not: the kubelet writes its
  /// checkpoint after each. False: there is no live stream.
  bool resend();

  void streamOpened(std::shared_ptr<ListWatchStream> stream);
  void streamEnded(const ListWatchStream& stream);

  /// What the kubelet may know of `ids`: their part of the last frame whose sending began on the
  /// newest live stream. Without one it knows nothing.
  Frame shown(const std::vector<std::string>& ids) const;

  ResourceFacts facts() const;

private:
  void endOutdated();
  /// A frame goes out on `streams` streams.
  void sent(std::size_t streams);

  const ResourceName name_;
  std::shared_ptr<const FrameMessage> current_;
  std::vector<std::shared_ptr<ListWatchStream>> streams_;  ///< oldest first
  std::uint64_t framesSent_ = 0;
  std::optional<Instant> lastFrame_;
  bool wantsPreStart_ = true;
  PluginServer server_;
  Registrar registrar_;
};

}  // namespace vfiogate
