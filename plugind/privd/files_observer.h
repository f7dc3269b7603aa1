#pragma once
// Hears from privd what there is of the kubelet, and tells what of it is new.

#include "ipc/schema/helper.capnp.h"
#include "plugind/privd/gate_client.h"
#include "plugind/privd/privd_view.h"

#include <optional>
#include <utility>

namespace vfiogate {

/// For one connection of privd's. Borrows `events`.
class FilesObserver final : public schema::KubeletObserver::Server {
public:
  explicit FilesObserver(PrivdEvents& events) : events_(events) {}

protected:
  kj::Promise<void> changed(ChangedContext context) override {
    const auto files = context.getParams().getFiles();
    const auto kubelet = identityIf(files.hasRegistration(), files.getRegistration());
    const auto podResources = identityIf(files.hasPodResources(), files.getPodResources());
    const auto checkpoint = identityIf(files.hasCheckpoint(), files.getCheckpoint());
    // Who it is first: the others are judged by it.
    if (isNew(kubelet_, kubelet)) events_.kubeletAppeared(*kubelet);
    if (isNew(podResources_, podResources)) events_.podResourcesAppeared();
    if (isNew(checkpoint_, checkpoint)) events_.checkpointReplaced();
    return kj::READY_NOW;
  }

private:
  using Identity = std::optional<KubeletIdentity>;

  static Identity identityIf(bool there, schema::FileIdentity::Reader identity) {
    return there ? Identity(identityOf(identity)) : std::nullopt;
  }
  static bool isNew(Identity& known, const Identity& now) {
    return std::exchange(known, now) != now && now;
  }

  PrivdEvents& events_;
  Identity kubelet_;
  Identity podResources_;
  Identity checkpoint_;
};

}  // namespace vfiogate
