#include "privd/hardware/helper_server.h"

#include "privd/hardware/feed.h"
#include "privd/hardware/group_controls.h"

#include <kj/debug.h>
#include <kj/refcount.h>

namespace vfiogate {
namespace {

constexpr auto kEntryPatience = 10 * kj::SECONDS;

/// What the capabilities of one connection share; it lives until the last of them is dropped.
struct Peer : kj::Refcounted {
  Peer(Node& sharedNode, HangUp how)
      : node(sharedNode), hangUp(kj::mv(how)), controls({node.sysfs, node.dev, node.source}) {}

  Node& node;
  HangUp hangUp;
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
    auto feed =
        kj::heap<Feed>(Feed::Place{peer_->node.source, peer_->node.timer, peer_->controls},
                       context.getParams().getObserver(),
                       [peer = peer_.get()](kj::StringPtr why) mutable { peer->hangUp(why); });
    const Feed* running = feed.get();
    peer_->feed = kj::mv(feed);
    context.getResults().setSubscription(kj::heap<SubscriptionServer>(kj::addRef(*peer_), running));
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

private:
  kj::Own<Peer> peer_;
};

class HandshakeServer final : public schema::Handshake::Server {
public:
  explicit HandshakeServer(kj::Own<Peer> peer)
      : peer_(kj::mv(peer)),
        impatience_(peer_->node.timer.afterDelay(kEntryPatience)
                        .then([this]() {
                          if (!peer_->entered) peer_->hangUp("said nothing for 10 s"_kj);
                        })
                        .eagerlyEvaluate(nullptr)) {}

protected:
  kj::Promise<void> enter(EnterContext context) override {
    auto answer = context.getResults().initAnswer();
    if (context.getParams().getProtocol() != schema::PROTOCOL) {
      answer.setWrongProtocol(schema::PROTOCOL);
      return kj::READY_NOW;
    }
    peer_->entered = true;
    if (session_ == nullptr) session_ = kj::heap<SessionServer>(kj::addRef(*peer_));
    answer.setSession(KJ_ASSERT_NONNULL(session_));
    return kj::READY_NOW;
  }

private:
  kj::Own<Peer> peer_;
  kj::Maybe<schema::Session::Client> session_;
  kj::Promise<void> impatience_;
};

}  // namespace

schema::Handshake::Client makeHandshake(Node& node, HangUp hangUp) {
  return kj::heap<HandshakeServer>(kj::refcounted<Peer>(node, kj::mv(hangUp)));
}

}  // namespace vfiogate
