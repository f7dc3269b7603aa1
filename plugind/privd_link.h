#pragma once
// The place of privd: it dials in, one at a time. plugind's own user and netd's may visit, whoever
// else dials is sent away.

#include "plugind/log_events.h"
#include "plugind/privd_session.h"
#include "plugind/visitor.h"

#include <kj/async.h>
#include <kj/function.h>
#include <kj/io.h>

#include <sys/types.h>

#include <string>

namespace vfiogate {

/// Takes connections for as long as it lives; answers for privd while none is there. The loop's
/// thread only.
class PrivdLink final : public GroupEyes,
                        public GroupHolds,
                        public GroupBinds,
                        public DiscoverySource,
                        public SpecStore,
                        public ClaimSpecStore,
                        public KubeletSockets,
                        public DraSockets,
                        public KubeletMemorySource,
                        private kj::TaskSet::ErrorHandler {
public:
  /// Whose connections are taken, and as what. Where two are the same the upper one wins.
  struct Users {
    uid_t privd;
    uid_t own;   ///< plugind's: visitors
    uid_t netd;  ///< visitors with fewer rights
  };

  /// `listener` is plugind's own.
  PrivdLink(kj::AutoCloseFd listener, Users users, const LoopParts& loop);
  KJ_DISALLOW_COPY(PrivdLink);

  /// Starts taking connections. Borrows `events`. Connections of visitors go to
  /// `visitor`. Call once.
  void start(PrivdEvents& events, kj::Function<void(kj::AutoCloseFd, Visitor)> visitor);

  kj::Promise<GroupLook> look(IommuGroupId group) override;
  kj::Promise<Told> hold(IommuGroupId group) override;
  kj::Promise<Told> drop(IommuGroupId group) override;
  kj::Promise<Told> adopted() override;
  kj::Promise<BindOutcome> bind(IommuGroupId group) override;
  kj::Promise<BindOutcome> giveBack(IommuGroupId group) override;
  kj::Promise<std::optional<DiscoveryCounts>> discovery() override;
  kj::Promise<std::optional<SpecAnswer>> declareSpecs(
      const std::vector<StaticSpec>& specs) override;
  kj::Promise<Result<std::vector<std::string>, SpecTrouble>> writeClaimSpec(
      const ClaimSpec& spec) override;
  kj::Promise<Result<Done, SpecTrouble>> unlinkClaimSpec(const std::string& uid) override;
  kj::Promise<Result<std::vector<std::string>, SpecTrouble>> claimSpecTexts() override;
  kj::Promise<Result<kj::AutoCloseFd, SocketRefusal>> dialKubelet() override;
  kj::Promise<Result<PluginSocket, SocketRefusal>> listenFor(const ResourceName& resource) override;
  kj::Promise<Result<PluginSocket, SocketRefusal>> listenForDra(const std::string& driver,
                                                                DraSocket socket) override;
  kj::Promise<Result<CheckpointFile, SocketRefusal>> checkpoint() override;
  kj::Promise<Result<kj::AutoCloseFd, SocketRefusal>> dialPodResources() override;

private:
  kj::Promise<Told> unlessAway(kj::Promise<Told> told);
  kj::Promise<BindOutcome> unlessAway(kj::Promise<BindOutcome> outcome);
  kj::Promise<void> acceptForever();
  void takeConnections();
  void admit(kj::AutoCloseFd connection);
  kj::Promise<void> awaitOpening(kj::AutoCloseFd connection);
  void begin(PrivdOpening opening);
  void over(const std::string& why);
  void tellGone();
  void tellFailure(LogEvent event, const std::string& why);
  void refuse(const char* why, uid_t uid);
  void taskFailed(kj::Exception&& exception) override;

  kj::AutoCloseFd listener_;
  const Users users_;
  const LoopParts loop_;
  kj::UnixEventPort::FdObserver readable_;
  PrivdEvents* events_ = nullptr;
  kj::Function<void(kj::AutoCloseFd, Visitor)> visitor_ = [](kj::AutoCloseFd, Visitor) {};
  unsigned openings_ = 0;
  std::uint64_t refused_ = 0;
  kj::TimePoint refusalTold_ = kj::origin<kj::TimePoint>();
  bool starved_ = false;  ///< of descriptors, which is told once
  std::string lastFailure_;
  bool there_ = false;
  NodeLease lease_;
  kj::Own<PrivdSession> session_;
  kj::TaskSet tasks_;
};

}  // namespace vfiogate
