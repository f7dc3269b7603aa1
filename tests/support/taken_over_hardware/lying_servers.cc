#include "tests/support/taken_over_hardware/lying_servers.h"

#include "ipc/codec/limits.h"
#include "ipc/codec/snapshot_codec.h"
#include "ipc/socket/stream_flags.h"

#include <kj/debug.h>

#include <utility>

namespace vfiogate::test {
namespace {

Snapshot onlyGroup(const Snapshot& hardware, IommuGroupId id) {
  Snapshot seen;
  const auto group = hardware.groups.find(id);
  if (group == hardware.groups.end()) return seen;
  seen.groups.insert(*group);
  for (const Bdf& member : group->second.members) {
    seen.devices.emplace(member, hardware.devices.at(member));
  }
  return seen;
}

class LyingControl final : public schema::GroupControl::Server {
public:
  LyingControl(const Story& story, IommuGroupId id) : story_(story), id_(id) {}

protected:
  kj::Promise<void> reread(RereadContext context) override {
    if (!story_.rereads) return kj::NEVER_DONE;
    encode(onlyGroup(story_.hardware, id_), context.getResults().initAnswer().initSeen(),
           noControl);
    return kj::READY_NOW;
  }

private:
  const Story& story_;
  const IommuGroupId id_;
};

class LyingSubscription final : public schema::Subscription::Server {};

class LyingSession final : public schema::Session::Server {
public:
  explicit LyingSession(Liar& liar) : liar_(liar) {}

protected:
  kj::Promise<void> watch(WatchContext context) override {
    ++liar_.watches;
    liar_.observer = context.getParams().getObserver();
    context.getResults().setSubscription(kj::heap<LyingSubscription>());
    return kj::READY_NOW;
  }

private:
  Liar& liar_;
};

class LyingHandshake final : public schema::Handshake::Server {
public:
  LyingHandshake(Liar& liar, const Story& story) : liar_(liar), story_(story) {}

protected:
  kj::Promise<void> enter(EnterContext context) override {
    if (!story_.enters) return kj::NEVER_DONE;
    auto answer = context.getResults().initAnswer();
    if (context.getParams().getProtocol() == story_.protocol) {
      answer.setSession(kj::heap<LyingSession>(liar_));
    } else {
      answer.setWrongProtocol(story_.protocol);
    }
    return kj::READY_NOW;
  }

private:
  Liar& liar_;
  const Story& story_;
};

}  // namespace

Liar::Liar(HardwareCaptive& captive, Story story)
    : captive_(captive),
      hears_(captive.io.lowLevelProvider->wrapSocketFd(captive.dial(), kStreamFlags)),
      story_(std::move(story)),
      network_(hears_, capnp::rpc::twoparty::Side::SERVER, kFromPrivd),
      rpc_(capnp::makeRpcServer(network_, kj::heap<LyingHandshake>(*this, story_))),
      left_(network_.onDisconnect()
                .then([this]() { over_ = true; })
                .eagerlyEvaluate([this](kj::Exception&&) { over_ = true; })) {}

bool Liar::isWatched() {
  while (observer == nullptr && !over_) captive_.pause(1 * kj::MILLISECONDS);
  return !over_;
}

kj::Promise<void> Liar::tell(const Update& update) {
  auto request = KJ_ASSERT_NONNULL(observer).changedRequest();
  encode(update, request.initUpdate(), [this](const IommuGroup& group) {
    return kj::Maybe<schema::GroupControl::Client>(kj::heap<LyingControl>(story_, group.id));
  });
  return request.send().ignoreResult();
}

bool Liar::tellAndWait(const Update& update) {
  try {
    tell(update).wait(captive_.io.waitScope);
  } catch (const kj::Exception&) {
    return false;
  }
  return true;
}

std::string Liar::howItEnds(kj::Duration patience) {
  kj::Timer& timer = captive_.io.provider->getTimer();
  const auto end = timer.now() + patience;
  while (!over_ && timer.now() < end) captive_.pause(5 * kj::MILLISECONDS);
  return over_ ? "hung up" : "served on";
}

}  // namespace vfiogate::test
