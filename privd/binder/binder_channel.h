#pragma once
// The binder's channel to plugind: orders in, answers out, and what plugind is told of groups.

#include "ipc/binder/binder_packets.h"
#include "ipc/types/binding_change.h"
#include "privd/bind/allocation_binder.h"
#include "privd/bind/host_view.h"
#include "privd/binder/group_probes.h"
#include "privd/binder/serial_reads.h"
#include "privd/binder/told_groups.h"
#include "privd/scan/sysfs_root.h"
#include "privd/state/allocation_files.h"

#include <kj/async-unix.h>
#include <kj/io.h>
#include <kj/timer.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace vfiogate {

/// Serves one plugind until it leaves or breaks a rule. A change that was begun goes on when this
/// is destroyed; nobody is told of it then.
class BinderChannel final : private kj::TaskSet::ErrorHandler {
public:
  /// All borrowed.
  struct Deps {
    kj::UnixEventPort& port;
    kj::Timer& timer;
    const SysfsRoot& sysfs;
    const DevRoot& dev;
    const AllocationFiles& allocations;
    HostView& view;
    AllocationBinder* binder;  ///< null: without the right to bind
    GroupProbes* probes;       ///< null: without the right to probe
    SerialReads* serials;      ///< null: without the right to serial numbers
  };

  BinderChannel(const Deps& deps, kj::AutoCloseFd socket);
  KJ_DISALLOW_COPY(BinderChannel);

  /// Resolves when it is over, with the reason for the log; empty: plugind just left. To be called
  /// once.
  kj::Promise<std::string> ended() { return kj::mv(over_.promise); }

private:
  /// A request that has no answer yet.
  struct Asked {
    std::vector<Bdf> members{};                             ///< of the group whose drivers change
    std::optional<std::variant<IommuGroupId, Bdf>> read{};  ///< group to open, or card to ask
  };

  /// As many packets at a time as may be in flight: all else has its turn in between.
  kj::Promise<void> receive();
  kj::Promise<void> watch(std::uint64_t seen);
  void take(const std::string& packet);
  void take(std::uint32_t number, const std::vector<Bdf>& members, ChangeKind kind);
  void take(const binder::Probe& request);
  void take(const binder::ReadSerial& request);
  /// False: it may not be asked now, and the channel is over.
  bool admit(std::uint32_t number, Asked asked);
  kj::Promise<AllocationAnswer> change(const std::vector<Bdf>& members, ChangeKind kind);
  bool isWholeGroup(const std::vector<Bdf>& members) const;
  void deny(std::uint32_t number, std::string_view request, binder::FromBinder answer);
  /// Once of each kind of request.
  void logRefused(std::string_view request, std::string_view reason);
  void answer(std::uint32_t number, binder::FromBinder answer);
  /// Tells what is news, and then the answers that wait.
  void flush();
  void send(const binder::FromBinder& message);
  void end(std::string why);
  void taskFailed(kj::Exception&& exception) override;

  const Deps deps_;
  kj::AutoCloseFd socket_;
  kj::UnixEventPort::FdObserver observer_;
  kj::PromiseFulfillerPair<std::string> over_ = kj::newPromiseAndFulfiller<std::string>();
  bool isOver_ = false;
  ToldGroups told_;
  bool awaitsSeen_ = false;
  std::set<std::string_view> loggedAsRefused_;  ///< kinds of requests
  std::map<std::uint32_t, Asked> inFlight_;     ///< by number, until answered
  /// By number, to be sent after what they changed was told.
  std::vector<std::pair<std::uint32_t, binder::FromBinder>> answers_;
  kj::TaskSet tasks_;  // last: they use all of the above
};

}  // namespace vfiogate
