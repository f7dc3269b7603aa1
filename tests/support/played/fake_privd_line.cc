#include "tests/support/played/fake_privd_line.h"

#include "ipc/codec/encode_snapshot.h"
#include "ipc/types/snapshot_delta.h"
#include "tests/support/played/fake_privd_binder.h"
#include "tests/support/played/fake_privd_dra.h"
#include "tests/support/played/fake_privd_gate.h"

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
  ControlServer(Line& line, IommuGroupId id) : line_(line), play_(line.play), id_(id) {}

protected:
  kj::Promise<void> look(LookContext context) override {
    ++play_.looks;
    if (play_.looksStall) return kj::NEVER_DONE;
    auto answer = context.getResults().initAnswer();
    const auto group = play_.hardware.groups.find(id_);
    if (group == play_.hardware.groups.end()) {
      answer.setVanished();
    } else {
      encode(onlyGroup(play_.hardware, group->second), answer.initSeen(), noControl);
    }
    answer.setOnFile(play_.records && play_.held.contains(id_));
    return kj::READY_NOW;
  }

  kj::Promise<void> allocate(AllocateContext context) override {
    play_.held.insert_or_assign(id_, context.getParams().getNote().cStr());
    return kj::READY_NOW;
  }

  kj::Promise<void> release(ReleaseContext /*context*/) override {
    play_.held.erase(id_);
    return kj::READY_NOW;
  }

  kj::Promise<void> bind(BindContext context) override {
    return changeDrivers(line_, id_, true)
        .then([&line = line_, context](FakePrivd::Binding ended) mutable {
          tellChange(line, ended, context.getResults().initAnswer());
        });
  }

  kj::Promise<void> giveBack(GiveBackContext context) override {
    return changeDrivers(line_, id_, false)
        .then([&line = line_, context](FakePrivd::Binding ended) mutable {
          tellChange(line, ended, context.getResults().initAnswer());
        });
  }

private:
  Line& line_;
  Play& play_;
  const IommuGroupId id_;
};

void tell(Line& line, const Update& update) {
  KJ_IF_MAYBE (watching, line.observer) {
    auto request = watching->changedRequest();
    encode(update, request.initUpdate(), [&line](const IommuGroup& group) {
      return kj::Maybe<schema::GroupControl::Client>(kj::heap<ControlServer>(line, group.id));
    });
    request.send().ignoreResult().detach([](kj::Exception&&) {});
  }
}

class SubscriptionServer final : public schema::Subscription::Server {};

class SessionServer final : public schema::Session::Server {
public:
  explicit SessionServer(Line& line) : line_(line) {}

protected:
  kj::Promise<void> watch(WatchContext context) override {
    line_.observer = context.getParams().getObserver();
    context.getResults().initAnswer().setSubscription(kj::heap<SubscriptionServer>());
    line_.tellWhole();
    return kj::READY_NOW;
  }

  kj::Promise<void> kubelet(KubeletContext context) override {
    context.getResults().initAnswer().setGate(makeGate(line_));
    return kj::READY_NOW;
  }

  kj::Promise<void> configuration(ConfigurationContext context) override {
    context.getResults().initAnswer().setNone();
    return kj::READY_NOW;
  }

  kj::Promise<void> writeClaimSpec(WriteClaimSpecContext context) override {
    writeClaim(line_.play, context.getParams().getSpec(), context.getResults().initAnswer());
    return kj::READY_NOW;
  }

  kj::Promise<void> unlinkClaimSpec(UnlinkClaimSpecContext context) override {
    unlinkClaim(line_.play, context.getParams().getUid(), context.getResults().initAnswer());
    return kj::READY_NOW;
  }

  kj::Promise<void> claimSpecs(ClaimSpecsContext context) override {
    tellClaims(line_.play, context.getResults().initAnswer());
    return kj::READY_NOW;
  }

  kj::Promise<void> adopted(AdoptedContext /*context*/) override {
    ++line_.play.adoptions;
    return kj::READY_NOW;
  }

private:
  Line& line_;
};

class HandshakeServer final : public schema::Handshake::Server {
public:
  explicit HandshakeServer(Line& line) : line_(line) {}

protected:
  kj::Promise<void> enter(EnterContext context) override {
    auto answer = context.getResults().initAnswer();
    const auto params = context.getParams();
    if (line_.play.leased) {
      ++line_.play.turnedAway;
      answer.setLeased();
    } else if (params.getProtocol() == line_.play.setup.protocol) {
      ++line_.play.sessions;
      answer.setSession(kj::heap<SessionServer>(line_));
      answer.setMayBind(line_.play.setup.mayBind);
      answer.setLease(params.getLease());  // no lock comes, and none is waited for
    } else {
      answer.setWrongProtocol(line_.play.setup.protocol);
    }
    return kj::READY_NOW;
  }

private:
  Line& line_;
};

}  // namespace

void Line::tellWhole() {
  ++play.wholes;
  told = play.hardware;
  toldGeneration = play.generation;
  tell(*this, {kEpoch, play.generation, play.hardware});
}

void Line::tellDelta() {
  const auto changes = diff(std::exchange(told, play.hardware), play.hardware);
  const auto base = std::exchange(toldGeneration, play.generation);
  tell(*this, {kEpoch, play.generation, UpdateDelta{base, changes}});
}

void Line::tellDueDelta() {
  if (std::exchange(deltaDue, false)) tellDelta();
}

schema::Handshake::Client makeHandshake(Line& line) {
  return kj::heap<HandshakeServer>(line);
}

}  // namespace vfiogate::test
