#pragma once
// The files that privd watches: the kubelet's, and plugind's configuration.

#include "plugind/privd/gate_client.h"
#include "plugind/privd/privd_view.h"

#include <kj/async.h>
#include <kj/timer.h>

#include <optional>
#include <string>
#include <utility>

namespace vfiogate {

/// Hears what there is of the kubelet, and tells what of it is new.
/// For one connection of privd's. Borrows `events`.
class FilesObserver {
public:
  explicit FilesObserver(PrivdEvents& events) : events_(events) {}

  /// Tells `events` of each that is there and is another file than the one told of before.
  void seen(const gate::WatchedFiles& files) {
    const gate::WatchedFiles before = std::exchange(known_, files);
    const auto isNew = [](const Identity& known, const Identity& now) {
      return now && known != now;
    };
    // Who it is first: the others are judged by it.
    if (isNew(before.registration, files.registration)) {
      events_.kubeletAppeared(identityOf(*files.registration));
    }
    if (isNew(before.podResources, files.podResources)) events_.podResourcesAppeared();
    if (isNew(before.checkpoint, files.checkpoint)) events_.checkpointReplaced();
  }

private:
  using Identity = std::optional<gate::FileIdentity>;

  PrivdEvents& events_;
  gate::WatchedFiles known_;
};

/// plugind's configuration. For one connection of privd's. The loop's thread only.
class ConfigWatch {
public:
  /// Borrows all.
  ConfigWatch(GateClient& gate, PrivdEvents& events, kj::Timer& timer)
      : gate_(gate), events_(events), timer_(timer) {}

  /// Has the file read, and told, if it is another one than was told. Absent: there is none.
  void seen(const std::optional<gate::FileIdentity>& now);

private:
  kj::Promise<void> read();
  kj::Promise<void> complain(const std::string& why);

  GateClient& gate_;
  PrivdEvents& events_;
  kj::Timer& timer_;
  std::optional<gate::FileIdentity> known_;
  std::string lastComplaint_;
  kj::Promise<void> reading_ = nullptr;
};

}  // namespace vfiogate
