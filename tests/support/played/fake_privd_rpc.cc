#include "tests/support/played/fake_privd_rpc.h"

#include "ipc/codec/snapshot_codec.h"
#include "ipc/types/snapshot_delta.h"

#include <string>
#include <utility>

namespace vfiogate::test {
namespace {

constexpr std::uint64_t kEpoch = 77;

Snapshot onlyGroup(const Snapshot& hardware, const IommuGroup& group) {
  Snapshot seen;
  seen.groups.emplace(group.id, group);
  for (const Bdf& member : group.members) seen.devices.emplace(member, hardware.devices.at(member));
  return seen;
}

class ControlServer final : public schema::GroupControl::Server {
public:
  ControlServer(Play& play, IommuGroupId id) : play_(play), id_(id) {}

protected:
  kj::Promise<void> reread(RereadContext context) override {
    ++play_.rereads;
    if (play_.rereadsStall) return kj::NEVER_DONE;
    auto answer = context.getResults().initAnswer();
    const auto group = play_.hardware.groups.find(id_);
    if (group == play_.hardware.groups.end()) {
      answer.setVanished();
    } else {
      encode(onlyGroup(play_.hardware, group->second), answer.initSeen(), noControl);
    }
    return kj::READY_NOW;
  }

private:
  Play& play_;
  const IommuGroupId id_;
};

void tell(PeerConnection& peer, const Update& update) {
  KJ_IF_MAYBE (watching, peer.observer) {
    auto request = watching->changedRequest();
    encode(update, request.initUpdate(), [&peer](const IommuGroup& group) {
      return kj::Maybe<schema::GroupControl::Client>(kj::heap<ControlServer>(peer.play, group.id));
    });
    request.send().ignoreResult().detach([](kj::Exception&&) {});
  }
}

class SubscriptionServer final : public schema::Subscription::Server {};

class SessionServer final : public schema::Session::Server {
public:
  explicit SessionServer(PeerConnection& peer) : peer_(peer) {}

protected:
  kj::Promise<void> watch(WatchContext context) override {
    peer_.observer = context.getParams().getObserver();
    context.getResults().setSubscription(kj::heap<SubscriptionServer>());
    peer_.tellWhole();
    return kj::READY_NOW;
  }

  kj::Promise<void> discovery(DiscoveryContext context) override {
    ++peer_.play.discoveries;
    if (!peer_.play.discoveryStalls) return schema::Session::Server::discovery(context);
    return kj::NEVER_DONE;
  }

private:
  PeerConnection& peer_;
};

class HandshakeServer final : public schema::Handshake::Server {
public:
  explicit HandshakeServer(PeerConnection& peer) : peer_(peer) {}

protected:
  kj::Promise<void> enter(EnterContext context) override {
    auto answer = context.getResults().initAnswer();
    const auto params = context.getParams();
    if (params.getProtocol() == peer_.play.setup.protocol) {
      ++peer_.play.sessions;
      answer.setSession(kj::heap<SessionServer>(peer_));
    } else {
      answer.setWrongProtocol(peer_.play.setup.protocol);
    }
    return kj::READY_NOW;
  }

private:
  PeerConnection& peer_;
};

}  // namespace

void PeerConnection::tellWhole() {
  ++play.wholes;
  told = play.hardware;
  toldGeneration = play.generation;
  tell(*this, {kEpoch, play.generation, play.hardware});
}

void PeerConnection::tellDelta() {
  const auto changes = diff(std::exchange(told, play.hardware), play.hardware);
  const auto base = std::exchange(toldGeneration, play.generation);
  tell(*this, {kEpoch, play.generation, UpdateDelta{base, changes}});
}

void PeerConnection::tellDueDelta() {
  if (std::exchange(play.deltaDue, false)) tellDelta();
}

schema::Handshake::Client makeHandshake(PeerConnection& peer) {
  return kj::heap<HandshakeServer>(peer);
}

}  // namespace vfiogate::test
