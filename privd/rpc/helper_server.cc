#include "privd/rpc/helper_server.h"

#include "ipc/codec/bounded_lists.h"
#include "ipc/codec/request_messages.h"
#include "privd/base/log_line.h"
#include "privd/rpc/feed.h"
#include "privd/rpc/group_controls.h"
#include "privd/rpc/servers.h"

#include <kj/debug.h>
#include <kj/refcount.h>

#include <optional>

namespace vfiogate {
namespace {

constexpr auto kEntryPatience = 10 * kj::SECONDS;

/// What the capabilities of one connection share; it lives until the last of them is dropped.
struct Peer : kj::Refcounted {
  Peer(Node& sharedNode, Service howServed)
      : node(sharedNode),
        service(kj::mv(howServed)),
        recordSession(node.records.newSession()),
        controls({node.sysfs, node.dev, node.records, recordSession, node.source,
                  binderFor(node, service.rights)}) {}

  /// Null: the connection may not have groups bound.
  static AllocationBinder* binderFor(Node& node, const Rights& rights) {
    KJ_IF_MAYBE (binder, node.binder) return rights.bind ? binder : nullptr;
    return nullptr;
  }

  Node& node;
  Service service;
  const AllocationRecords::Session recordSession;
  bool entered = false;
  GroupControls controls;
  kj::Maybe<kj::Own<Feed>> feed;
};

class SubscriptionServer final : public schema::Subscription::Server {
public:
  SubscriptionServer(kj::Own<Peer> peer, const Feed* feed) : peer_(kj::mv(peer)), feed_(feed) {}

  // Dropping the capability is how a peer ends its subscription.
  ~SubscriptionServer() noexcept(false) {
    KJ_IF_MAYBE (running, peer_->feed) {
      if (running->get() == feed_) peer_->feed = nullptr;
    }
  }
  KJ_DISALLOW_COPY(SubscriptionServer);

private:
  kj::Own<Peer> peer_;
  const Feed* feed_;
};

class SessionServer final : public schema::Session::Server {
public:
  explicit SessionServer(kj::Own<Peer> peer) : peer_(kj::mv(peer)) {}

protected:
  kj::Promise<void> watch(WatchContext context) override {
    auto answer = context.getResults().initAnswer();
    if (!peer_->service.rights.watch) {
      answer.setDenied();
      return kj::READY_NOW;
    }
    kj::Maybe<GroupControls&> controls;
    if (peer_->service.rights.kubelet) controls = peer_->controls;
    auto feed = kj::heap<Feed>(
        Feed::Place{peer_->node.source, peer_->node.timer, controls},
        context.getParams().getObserver(),
        [peer = peer_.get()](kj::StringPtr why) mutable { peer->service.hangUp(why); });
    const Feed* running = feed.get();
    peer_->feed = kj::mv(feed);
    answer.setSubscription(kj::heap<SubscriptionServer>(kj::addRef(*peer_), running));
    return kj::READY_NOW;
  }

  kj::Promise<void> kubelet(KubeletContext context) override {
    auto answer = context.getResults().initAnswer();
    KJ_IF_MAYBE (channel, peer_->service.channel) {
      if (peer_->service.rights.kubelet) {
        if (gate_ == nullptr) {
          gate_ = makeGate(peer_->node.kubelet, *channel, peer_->node.timer, kj::addRef(*peer_));
        }
        answer.setGate(KJ_ASSERT_NONNULL(gate_));
        return kj::READY_NOW;
      }
    }
    answer.setDenied();
    return kj::READY_NOW;
  }

  kj::Promise<void> configuration(ConfigurationContext context) override {
    const auto params = context.getParams();
    const auto ticket = params.getTicket();
    std::optional<FileIdentity> known;
    if (params.hasKnown()) {
      known = FileIdentity{params.getKnown().getInode(), params.getKnown().getChanged()};
    }
    KJ_IF_MAYBE (config, peer_->node.config) {
      if (peer_->service.channel != nullptr && peer_->service.rights.kubelet) {
        newConfiguration_.cancel("a newer call takes its place");
        return newConfiguration_.wrap(config->other(known).then(
            [this, context, ticket](Result<RegularFile, ReadError> opened) mutable {
              return post(kj::mv(opened), ticket, context.getResults().initAnswer());
            }));
      }
    }
    context.getResults().initAnswer().setNone();
    return kj::READY_NOW;
  }

  kj::Promise<void> adopted(AdoptedContext /*context*/) override {
    if (peer_->service.channel != nullptr) peer_->node.records.keepOnly(peer_->recordSession);
    return kj::READY_NOW;
  }

  kj::Promise<void> discovery(DiscoveryContext context) override {
    const DiscoveryCounts& counts = peer_->node.counts;
    auto told = context.getResults().initCounts(kDiscoveryCounts);
    for (std::uint32_t i = 0; i < kDiscoveryCounts; ++i) {
      told.set(i, counts[static_cast<DiscoveryCount>(i)]);
    }
    return kj::READY_NOW;
  }

  kj::Promise<void> declareSpecs(DeclareSpecsContext context) override {
    const auto specs = decode(context.getParams().getSpecs());
    if (!specs) {
      peer_->service.hangUp(kj::str("specs: ", specs.error().what.c_str()));
      return KJ_EXCEPTION(FAILED, "a declaration that makes no sense");
    }
    auto answer = context.getResults().initAnswer();
    KJ_IF_MAYBE (store, peer_->node.cdi) {
      if (mayHaveSpecs()) {
        encode(store->declare(*specs, *peer_->node.source.current().snapshot), answer);
        return kj::READY_NOW;
      }
    }
    answer.setDenied();
    return kj::READY_NOW;
  }

  kj::Promise<void> bindings(BindingsContext context) override {
    auto answer = context.getResults().initAnswer();
    KJ_IF_MAYBE (service, peer_->node.bindingService) {
      if (peer_->service.rights.operate) {
        if (control_ == nullptr) {
          control_ = makeBindControl(*service, peer_->service.who,
                                     [peer = kj::addRef(*peer_)](kj::StringPtr why) mutable {
                                       peer->service.hangUp(why);
                                     });
        }
        answer.setControl(KJ_ASSERT_NONNULL(control_));
        return kj::READY_NOW;
      }
    }
    answer.setDenied();
    return kj::READY_NOW;
  }

  kj::Promise<void> writeClaimSpec(WriteClaimSpecContext context) override {
    auto answer = context.getResults().initAnswer();
    KJ_IF_MAYBE (store, claims()) {
      vfiogate::writeClaimSpec(*store, context.getParams().getSpec(),
                               *peer_->node.source.current().snapshot, answer);
    } else {
      answer.setDenied();
    }
    return kj::READY_NOW;
  }

  kj::Promise<void> unlinkClaimSpec(UnlinkClaimSpecContext context) override {
    auto answer = context.getResults().initAnswer();
    KJ_IF_MAYBE (store, claims()) {
      vfiogate::unlinkClaimSpec(*store, context.getParams().getUid(), answer);
    } else {
      answer.setDenied();
    }
    return kj::READY_NOW;
  }

  kj::Promise<void> claimSpecs(ClaimSpecsContext context) override {
    auto answer = context.getResults().initAnswer();
    KJ_IF_MAYBE (store, claims()) {
      tellClaimSpecs(*store, answer);
    } else {
      answer.setDenied();
    }
    return kj::READY_NOW;
  }

private:
  bool mayHaveSpecs() const {
    return peer_->service.channel != nullptr && peer_->service.rights.cdi;
  }

  /// Null: denied.
  kj::Maybe<ClaimStore&> claims() { return mayHaveSpecs() ? peer_->node.claims : nullptr; }

  kj::Promise<void> post(Result<RegularFile, ReadError> opened, std::uint32_t ticket,
                         schema::ConfigurationAnswer::Builder answer) {
    if (!opened) {
      answer.setFailed(static_cast<std::uint16_t>(opened.error().error));
      return kj::READY_NOW;
    }
    RegularFile file = kj::mv(opened).value();
    return deliver(KJ_ASSERT_NONNULL(peer_->service.channel), peer_->node.timer,
                   {ticket, DescriptorKind::kFile, kj::mv(file.fd)})
        .then([answer, status = file.status](bool taken) mutable {
          if (!taken) return answer.setTooMany();
          auto told = answer.initFile();
          told.setSize(static_cast<std::uint32_t>(status.st_size));
          encode(identityOf(status), told.initIdentity());
        });
  }

  kj::Own<Peer> peer_;
  kj::Maybe<schema::KubeletGate::Client> gate_;
  kj::Maybe<schema::BindControl::Client> control_;
  kj::Canceler newConfiguration_;  // last: it uses all of the above
};

void tellAllocated(const AllocationRecords& records, schema::EnterAnswer::Builder answer) {
  encodeList(
      records.groups(), kMaxFunctions, [&](auto size) { return answer.initAllocated(size); },
      [](const AllocatedGroup& group, schema::AllocatedGroup::Builder out) {
        encodeList(
            group.members, kMaxFunctions, [&](auto size) { return out.initMembers(size); },
            encodeAddress);
        out.setNote(group.note);
      });
  answer.setAllocatedComplete(records.complete());
}

class HandshakeServer final : public schema::Handshake::Server {
public:
  explicit HandshakeServer(kj::Own<Peer> peer)
      : peer_(kj::mv(peer)),
        impatience_(peer_->node.timer.afterDelay(kEntryPatience)
                        .then([this]() {
                          if (!peer_->entered) peer_->service.hangUp("said nothing for 10 s"_kj);
                        })
                        .eagerlyEvaluate(nullptr)) {}

protected:
  kj::Promise<void> enter(EnterContext context) override {
    auto answer = context.getResults().initAnswer();
    const auto params = context.getParams();
    if (params.getProtocol() != schema::PROTOCOL) {
      answer.setWrongProtocol(schema::PROTOCOL);
      return kj::READY_NOW;
    }
    peer_->entered = true;
    if (session_ == nullptr && !lease(params.getTicket(), params.getLease())) {
      if (!waits_) logLine(LogEvent::kPlugindWaits);
      waits_ = true;
      answer.setLeased();
      return kj::READY_NOW;
    }
    if (session_ == nullptr) session_ = kj::heap<SessionServer>(kj::addRef(*peer_));
    answer.setSession(KJ_ASSERT_NONNULL(session_));
    answer.setLease(lease_);
    answer.setMayBind(Peer::binderFor(peer_->node, peer_->service.rights) != nullptr);
    if (peer_->service.channel != nullptr) tellAllocated(peer_->node.records, answer);
    return kj::READY_NOW;
  }

private:
  /// False: another plugind has the node.
  bool lease(std::uint32_t ticket, std::uint64_t shown) {
    KJ_IF_MAYBE (channel, peer_->service.channel) {
      const auto leased = peer_->node.lease.take(shown);
      // What cannot be sent is closed here, and free for the next try.
      if (!leased || (leased->lock && channel->send(ticket, DescriptorKind::kLock, *leased->lock) !=
                                          DescriptorSender::Sent::kSent)) {
        return false;
      }
      lease_ = leased->ticket;
    }
    return true;
  }

  kj::Own<Peer> peer_;
  std::uint64_t lease_ = 0;
  bool waits_ = false;
  kj::Maybe<schema::Session::Client> session_;
  kj::Promise<void> impatience_;
};

}  // namespace

schema::Handshake::Client makeHandshake(Node& node, Service service) {
  return kj::heap<HandshakeServer>(kj::refcounted<Peer>(node, kj::mv(service)));
}

}  // namespace vfiogate
