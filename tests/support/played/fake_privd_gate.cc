#include "tests/support/played/fake_privd_gate.h"

#include "ipc/gate/packet_socket.h"
#include "ipc/socket/unix_socket.h"
#include "ipc/types/units.h"
#include "tests/support/played/fake_privd_dra.h"

#include <kj/debug.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>
#include <variant>

namespace vfiogate::test {
namespace {

constexpr const char* kSocket = "/kubelet.sock";
constexpr const char* kPodResources = "/../pod-resources/kubelet.sock";
constexpr const char* kCheckpoint = "/kubelet_internal_checkpoint";

std::int64_t nanoseconds(const timespec& time) {
  return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

std::optional<gate::FileIdentity> identityOf(const std::string& path) {
  struct stat status = {};
  if (lstat(path.c_str(), &status) != 0) return std::nullopt;
  return gate::FileIdentity{status.st_ino, nanoseconds(status.st_ctim)};
}

std::set<UnitId> excludedIn(const Snapshot& hardware) {
  std::set<UnitId> excluded;
  for (const auto& [id, group] : hardware.groups) {
    if (group.binding.excluded) excluded.insert(group.members.begin(), group.members.end());
  }
  return excluded;
}

std::uint64_t exclusionsOf(Play& play) {
  std::set<UnitId> now = excludedIn(play.hardware);
  if (now == play.excluded) return play.exclusions;
  play.excluded = std::move(now);
  return ++play.exclusions;
}

gate::WatchedFiles filesOf(Play& play) {
  const std::string& directory = play.setup.kubeletDir;
  return {.registration = identityOf(directory + kSocket),
          .podResources = identityOf(directory + kPodResources),
          .checkpoint = identityOf(directory + kCheckpoint),
          .configuration = std::nullopt,
          .exclusions = exclusionsOf(play)};
}

PlayedAnswer on(Play& play, const gate::Enter& request) {
  if (play.leased) {
    ++play.turnedAway;
    return refused(gate::Code::kLeased);
  }
  // No lock comes, and none is waited for.
  return {{.outcome = gate::Entered{.lease = request.lease, .complete = false}}, nullptr};
}

PlayedAnswer on(Play& play, const gate::Adopted& /*request*/) {
  ++play.adoptions;
  return {};
}

PlayedAnswer on(Play& play, const gate::Listen& request) {
  if (request.kind != gate::Listen::Kind::kResource) return listenForDra(play, request);
  // One name a resource, made otherwise than the real one's.
  std::string name = "fake-" + request.name + ".sock";
  for (char& c : name) c = c == '/' ? '_' : c;
  auto made = listenAt(play.setup.kubeletDir.c_str(), name.c_str(), WhoMayConnect::kOwner);
  if (!made) return refused(gate::Code::kFailed, made.error().error);
  return {{.outcome = gate::Endpoint{name}}, kj::mv(made).value()};
}

PlayedAnswer on(Play& play, const gate::Dial& request) {
  const bool pods = request.socket == gate::Dial::Socket::kPodResources;
  auto made = dialAt((play.setup.kubeletDir + (pods ? kPodResources : kSocket)).c_str());
  if (!made) return refused(gate::Code::kNotYet, made.error().error);
  return {{}, kj::mv(made).value()};
}

PlayedAnswer on(Play& play, const gate::Open& request) {
  if (request.file == gate::Open::File::kClaimSpec) return openClaim(play, request.uid);
  if (request.file == gate::Open::File::kConfiguration) {
    return refused(gate::Code::kNotYet, ENOENT);
  }
  ++play.checkpoints;
  const std::string path = play.setup.kubeletDir + kCheckpoint;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return refused(gate::Code::kNotYet, ENOENT);
  kj::AutoCloseFd file(fd);
  struct stat status = {};
  KJ_SYSCALL(fstat(fd, &status));
  return {{.outcome = gate::OpenedFile{.size = static_cast<std::uint32_t>(status.st_size),
                                       .written = nanoseconds(status.st_mtim),
                                       .identity = *identityOf(path),
                                       .kubelet = identityOf(play.setup.kubeletDir + kSocket)}},
          kj::mv(file)};
}

PlayedAnswer on(Play& play, const gate::Allocate& request) {
  if (play.recordsFail) return refused(gate::Code::kFailed, ENOSPC);
  if (play.busy > 0) {
    --play.busy;
    return refused(gate::Code::kBusy);
  }
  const std::set<UnitId> units(request.members.begin(), request.members.end());
  for (const auto& [id, group] : play.hardware.groups) {
    if (unitsOf(group) == units) play.held.insert_or_assign(id, units);
  }
  return {};
}

PlayedAnswer on(Play& play, const gate::Release& request) {
  const std::set<UnitId> units(request.members.begin(), request.members.end());
  std::erase_if(play.held, [&units](const auto& held) { return held.second == units; });
  return {};
}

PlayedAnswer on(Play& play, const gate::Put& request) {
  const auto* claim = std::get_if<ClaimSpecText>(&request.spec);
  return claim != nullptr ? writeClaim(play, *claim) : PlayedAnswer{};
}

PlayedAnswer on(Play& play, const gate::Remove& request) {
  return request.what == gate::Remove::What::kClaim ? unlinkClaim(play, request.uid)
                                                    : PlayedAnswer{};
}

PlayedAnswer on(Play& play, const gate::List& request) {
  if (request.what == gate::List::What::kClaimSpecs) return listClaims(play);
  if (request.what == gate::List::What::kExclusions) {
    return {{.outcome = gate::Exclusions{{play.excluded.begin(), play.excluded.end()}, false}},
            nullptr};
  }
  return {{.outcome = gate::Allocations{}}, nullptr};
}

PlayedAnswer on(Play& /*play*/, const gate::Seen& /*request*/) {
  return {};
}

}  // namespace

PlayedAnswer refused(gate::Code code, int detail) {
  return {{.code = code, .detail = static_cast<std::uint16_t>(detail)}, nullptr};
}

PlayedGate::PlayedGate(Play& play, kj::UnixEventPort& port, kj::AutoCloseFd channel)
    : play_(play),
      channel_(kj::mv(channel)),
      readable_(port, channel_.get(), kj::UnixEventPort::FdObserver::OBSERVE_READ),
      timer_(port.getTimer()),
      serving_(kj::evalLater([this]() { return serve(); }).eagerlyEvaluate(nullptr)) {}

kj::Promise<void> PlayedGate::serve() {
  for (;;) {
    auto received = receivePacket(channel_, gate::kLargestRequest);
    if (!received) {
      ended_.fulfiller->fulfill();
      return kj::NEVER_DONE;
    }
    auto arrived = kj::mv(received).value();
    KJ_IF_MAYBE (packet, arrived) {
      const auto request = gate::decodeRequest(packet->bytes).value();
      const auto* list = std::get_if<gate::List>(&request);
      if (list != nullptr && list->what == gate::List::What::kExclusions) {
        return timer_.afterDelay(play_.setup.exclusionsTake * kj::MILLISECONDS)
            .then([this, request]() {
              answer(request);
              return serve();
            });
      }
      answer(request);
    } else {
      return readable_.whenBecomesReadable().then([this]() { return serve(); });
    }
  }
}

void PlayedGate::answer(const gate::Request& request) {
  KJ_REQUIRE(entered_ || std::holds_alternative<gate::Enter>(request), "asked before it entered");
  PlayedAnswer answer = std::visit([this](const auto& one) { return on(play_, one); }, request);
  if (std::holds_alternative<gate::Seen>(request)) {
    awaitsSeen_ = false;
    return tellNewFiles();
  }
  int fd = -1;
  KJ_IF_MAYBE (open, answer.fd) fd = open->get();
  sendPacket(channel_, encode(gate::FromGate(answer.answer)), fd);
  if (!std::holds_alternative<gate::Entered>(answer.answer.outcome)) return;
  entered_ = true;
  tellNewFiles();
}

void PlayedGate::tellNewFiles() {
  if (!entered_ || awaitsSeen_) return;
  const gate::WatchedFiles files = filesOf(play_);
  if (told_ == files) return;
  told_ = files;
  awaitsSeen_ = true;
  sendPacket(channel_, encode(gate::FromGate(gate::Changed{files})));
}

}  // namespace vfiogate::test
