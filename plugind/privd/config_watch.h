#pragma once
// plugind's configuration as privd watches it.

#include "ipc/codec/descriptor_channel.h"
#include "ipc/schema/helper.capnp.h"
#include "plugind/privd/privd_view.h"

#include <kj/async.h>
#include <kj/timer.h>

#include <memory>
#include <optional>
#include <string>

namespace vfiogate {

/// For one connection of privd's. One call is always open, which privd answers when the file is
/// another one. The loop's thread only.
class ConfigWatch {
public:
  /// Borrows `events` and `timer`.
  ConfigWatch(schema::Session::Client session, std::shared_ptr<DescriptorReceiver> descriptors,
              PrivdEvents& events, kj::Timer& timer);

  /// Tells each file, the first one at once. Ends where privd watches none. Fails with the
  /// connection.
  kj::Promise<void> run();

private:
  kj::Promise<void> take(schema::ConfigurationAnswer::Reader answer,
                         kj::Promise<kj::AutoCloseFd> file);
  kj::Promise<void> complain(const std::string& why);

  schema::Session::Client session_;
  std::shared_ptr<DescriptorReceiver> descriptors_;
  PrivdEvents& events_;
  kj::Timer& timer_;
  std::optional<KubeletIdentity> known_;
  std::string lastComplaint_;
};

}  // namespace vfiogate
