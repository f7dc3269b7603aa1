#include "tests/support/fake_privd_line.h"

#include "ipc/codec/encode_snapshot.h"
#include "ipc/socket/unix_socket.h"
#include "ipc/types/snapshot_delta.h"
#include "ipc/types/update.h"
#include "tests/support/fake_privd_binder.h"
#include "tests/support/fake_privd_dra.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <utility>

namespace vfiogate::test {
namespace {

constexpr std::uint64_t kEpoch = 77;

constexpr const char* kSocket = "/kubelet.sock";
constexpr const char* kPodResources = "/../pod-resources/kubelet.sock";
constexpr const char* kCheckpoint = "/kubelet_internal_checkpoint";

std::int64_t nanoseconds(const timespec& time) {
  return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

FileState stateOf(const std::string& path) {
  struct stat status = {};
  if (lstat(path.c_str(), &status) != 0) return std::nullopt;
  return std::pair{status.st_ino, nanoseconds(status.st_ctim)};
}

void encode(const FileState& state, schema::FileIdentity::Builder to) {
  to.setInode(state->first);
  to.setChanged(state->second);
}

KubeletFiles filesOf(const std::string& directory) {
  return {stateOf(directory + kSocket), stateOf(directory + kPodResources),
          stateOf(directory + kCheckpoint)};
}

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
    return kj::READY_NOW;
  }

  kj::Promise<void> hold(HoldContext /*context*/) override {
    play_.held.insert(id_);
    return kj::READY_NOW;
  }

  kj::Promise<void> drop(DropContext /*context*/) override {
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

class GateServer final : public schema::KubeletGate::Server {
public:
  explicit GateServer(Line& line) : line_(line) {}

protected:
  kj::Promise<void> listen(ListenContext context) override {
    const auto params = context.getParams();
    // One name a resource, made otherwise than the real one's.
    std::string name = "fake-" + std::string(params.getResource()) + ".sock";
    for (char& c : name) c = c == '/' ? '_' : c;
    auto made = listenAt(line_.play.setup.kubeletDir.c_str(), name.c_str(), WhoMayConnect::kOwner);
    auto answer = context.getResults().initAnswer();
    if (!made) {
      answer.setFailed(static_cast<std::uint16_t>(made.error().error));
      return kj::READY_NOW;
    }
    const kj::AutoCloseFd listener = kj::mv(made).value();
    line_.channel.send(params.getTicket(), DescriptorKind::kListener, listener.get());
    answer.setEndpoint(name);
    return kj::READY_NOW;
  }

  kj::Promise<void> dial(DialContext context) override {
    auto answer = context.getResults().initAnswer();
    const bool pods = context.getParams().getSocket() == schema::KubeletSocket::POD_RESOURCES;
    auto made = dialAt((line_.play.setup.kubeletDir + (pods ? kPodResources : kSocket)).c_str());
    if (!made) {
      answer.setAbsent(static_cast<std::uint16_t>(made.error().error));
      return kj::READY_NOW;
    }
    const kj::AutoCloseFd connection = kj::mv(made).value();
    line_.channel.send(context.getParams().getTicket(), DescriptorKind::kConnection,
                       connection.get());
    answer.setConnected();
    return kj::READY_NOW;
  }

  kj::Promise<void> listenDra(ListenDraContext context) override {
    const auto params = context.getParams();
    auto answer = context.getResults().initAnswer();
    listenForDra(line_, params.getTicket(), params.getDriver(), params.getSocket(), answer);
    return kj::READY_NOW;
  }

  kj::Promise<void> watch(WatchContext context) override {
    line_.kubeletObserver = context.getParams().getObserver();
    line_.tellFiles();
    return kj::READY_NOW;
  }

  kj::Promise<void> checkpoint(CheckpointContext context) override {
    ++line_.play.checkpoints;
    auto answer = context.getResults().initAnswer();
    const std::string path = line_.play.setup.kubeletDir + kCheckpoint;
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
      answer.setAbsent();
      return kj::READY_NOW;
    }
    const kj::AutoCloseFd file(fd);
    struct stat status = {};
    fstat(fd, &status);
    line_.channel.send(context.getParams().getTicket(), DescriptorKind::kFile, fd);
    auto told = answer.initFile();
    told.setSize(static_cast<std::uint32_t>(status.st_size));
    told.setWritten(nanoseconds(status.st_mtim));
    const auto kubelet = stateOf(line_.play.setup.kubeletDir + kSocket);
    if (kubelet) encode(kubelet, told.initKubelet());
    return kj::READY_NOW;
  }

private:
  Line& line_;
};

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
    context.getResults().initAnswer().setGate(kj::heap<GateServer>(line_));
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

class DoorServer final : public schema::Door::Server {
public:
  explicit DoorServer(Line& line) : line_(line) {}

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

void Line::tellFiles() {
  toldFiles = filesOf(play.setup.kubeletDir);
  KJ_IF_MAYBE (watching, kubeletObserver) {
    auto request = watching->changedRequest();
    auto files = request.initFiles();
    if (toldFiles.registration) encode(toldFiles.registration, files.initRegistration());
    if (toldFiles.podResources) encode(toldFiles.podResources, files.initPodResources());
    if (toldFiles.checkpoint) encode(toldFiles.checkpoint, files.initCheckpoint());
    request.send().ignoreResult().detach([](kj::Exception&&) {});
  }
}

void Line::tellNewFiles() {
  if (kubeletObserver != nullptr && filesOf(play.setup.kubeletDir) != toldFiles) tellFiles();
}

schema::Door::Client makeDoor(Line& line) {
  return kj::heap<DoorServer>(line);
}

}  // namespace vfiogate::test
