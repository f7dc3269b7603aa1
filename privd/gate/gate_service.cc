#include "privd/gate/gate_service.h"

#include "privd/base/log_line.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>
#include <variant>

namespace vfiogate {
namespace {

using gate::Code;
using gate::Open;

/// Bytes of an answer beside the allocations in it.
constexpr std::size_t kAroundAllocations = 64;

bool may(const Rights& rights, const gate::Request& request) {
  if (const auto* open = std::get_if<Open>(&request)) {
    return open->file == Open::File::kClaimSpec ? rights.cdi : rights.kubelet;
  }
  if (const auto* list = std::get_if<gate::List>(&request)) {
    return list->what == gate::List::What::kAllocations || rights.cdi;
  }
  if (std::holds_alternative<gate::Put>(request) || std::holds_alternative<gate::Remove>(request)) {
    return rights.cdi;
  }
  return std::holds_alternative<gate::Enter>(request) ||
         std::holds_alternative<gate::Adopted>(request) ||
         std::holds_alternative<gate::Seen>(request) || rights.kubelet;
}

kj::String inWords(int error) {
  return kj::str(strerror(error));
}

kj::String text(const std::string& of) {
  return kj::heapString(of.data(), of.size());
}

/// The listener of `whose`, or why there is none.
GateAnswer listening(Result<KubeletGate::Listener, SocketError> made, LogField whose) {
  if (!made) {
    const SocketError error = made.error();
    logLine(LogEvent::kSocketFailed, {{whose.key, kj::mv(whose.value)},
                                      {"step", kj::str(error.step)},
                                      {"error", inWords(error.error)}});
    return refused(Code::kFailed, error.error);
  }
  KubeletGate::Listener listener = kj::mv(made).value();
  logLine(LogEvent::kSocketMade,
          {{whose.key, kj::mv(whose.value)}, {"name", kj::str(listener.endpoint)}});
  GateAnswer answer = done(gate::Endpoint{listener.endpoint.cStr()});
  answer.fd = kj::mv(listener.fd);
  return answer;
}

/// As many as fit into one answer. Those that begin with one device are never parted: `after` could
/// not tell them apart.
gate::Allocations partOf(std::vector<AllocatedGroup> groups, const std::string& after) {
  const auto first = [](const AllocatedGroup& group) { return group.members.front(); };
  std::ranges::stable_sort(groups, {}, first);
  gate::Allocations part;
  std::size_t size = kAroundAllocations;
  const auto last = Bdf::parse(after);
  for (AllocatedGroup& group : groups) {
    if (last && first(group) <= *last) continue;
    gate::Allocation one{std::move(group.members), std::move(group.note)};
    size += sizeOf(one);
    const bool beginsAnew =
        part.groups.empty() || part.groups.back().members.front() != one.members.front();
    if (size > gate::kLargestAnswer && beginsAnew && !part.groups.empty()) {
      part.more = true;
      return part;
    }
    part.groups.push_back(std::move(one));
  }
  return part;
}

}  // namespace

GateAnswer GateService::answer(GateSession& session, const gate::Request& request) {
  if (!may(deps_.rights, request)) return refused(Code::kDenied);
  return std::visit([&](const auto& one) { return on(session, one); }, request);
}

GateAnswer GateService::on(GateSession& session, const gate::Enter& request) {
  if (request.protocol != gate::kProtocol) return refused(Code::kWrongProtocol, gate::kProtocol);
  auto leased = deps_.lease.take(session.entered ? session.lease : request.lease);
  if (!leased) {
    if (!session.waits) logLine(LogEvent::kPlugindWaits);
    session.waits = true;
    return refused(Code::kLeased);
  }
  session.lease = leased->ticket;
  GateAnswer answer = done(gate::Entered{leased->ticket, deps_.records.complete()});
  answer.fd = kj::mv(leased->lock);
  return answer;
}

GateAnswer GateService::on(GateSession& session, const gate::Adopted& /*request*/) {
  deps_.records.keepOnly(session.record);
  return done();
}

GateAnswer GateService::on(GateSession& session, const gate::Seen& /*request*/) {
  session.awaitsSeen = false;
  return done();
}

GateAnswer GateService::on(GateSession& /*session*/, const gate::Listen& request) {
  using Kind = gate::Listen::Kind;
  if (request.kind != Kind::kResource) {
    if (deps_.names.draDriver.empty() || request.name != deps_.names.draDriver) {
      logLine(LogEvent::kSocketRefused,
              {{"driver", text(request.name)}, {"reason", kj::str("not --dra-driver")}});
      return refused(Code::kForeign);
    }
    const bool service = request.kind == Kind::kDraService;
    return listening(deps_.kubelet.listenDra(service ? KubeletGate::DraSocket::kService
                                                     : KubeletGate::DraSocket::kRegistration),
                     {"driver", text(request.name)});
  }
  const auto resource = ResourceName::parse(request.name);
  if (!resource) return refused(Code::kBadName);
  if (const auto refusal = deps_.kubelet.refuse(*resource)) {
    const bool foreign = *refusal == KubeletGate::Refusal::kForeignPrefix;
    logLine(LogEvent::kSocketRefused,
            {{"resource", text(resource->str())},
             {"reason", kj::str(foreign ? "no --resource-prefix covers it" : "64 are served")}});
    return refused(foreign ? Code::kForeign : Code::kTooMany);
  }
  return listening(deps_.kubelet.listen(*resource), {"resource", text(resource->str())});
}

GateAnswer GateService::on(GateSession& /*session*/, const gate::Dial& request) {
  auto made = deps_.kubelet.dial(request.socket == gate::Dial::Socket::kPodResources
                                     ? KubeletGate::Socket::kPodResources
                                     : KubeletGate::Socket::kRegistration);
  if (!made) {
    const int error = made.error().error;
    logLine(LogEvent::kKubeletAbsent, {{"error", inWords(error)}});
    return refused(meansNotYet(error) ? Code::kNotYet : Code::kFailed, error);
  }
  GateAnswer answer = done();
  answer.fd = kj::mv(made).value();
  return answer;
}

GateAnswer GateService::on(GateSession& /*session*/, const Open& request) {
  switch (request.file) {
    case Open::File::kCheckpoint:
      return openCheckpoint();
    case Open::File::kConfiguration:
      if (deps_.configuration.empty()) return refused(Code::kNotYet, ENOENT);
      return handed(openForPeer(deps_.configuration.c_str(), 0));
    case Open::File::kClaimSpec:
      break;
  }
  return deps_.specs.open(request.uid);
}

GateAnswer GateService::openCheckpoint() const {
  GateAnswer answer = handed(deps_.kubelet.openCheckpoint());
  // After the file was opened: a kubelet that starts in between makes the file one of an earlier
  // kubelet's, which it is.
  const auto kubelet = deps_.kubelet.readFiles().registration;
  auto* file = std::get_if<gate::OpenedFile>(&answer.answer.outcome);
  if (file != nullptr && kubelet) file->kubelet = told(*kubelet);
  return answer;
}

GateAnswer GateService::on(GateSession& session, const gate::Allocate& request) {
  if (deps_.records.allocate(request.members, request.note, session.record)) return done();
  const int error = deps_.records.lastError();
  if (error == EWOULDBLOCK) return refused(Code::kBusy);
  logLine(LogEvent::kRecordFailed, {{"device", text(request.members.front().str())},
                                    {"error", kj::str(strerrordesc_np(error))}});
  return refused(Code::kFailed, error);
}

GateAnswer GateService::on(GateSession& /*session*/, const gate::Release& request) {
  deps_.records.release(request.members);
  return done();
}

GateAnswer GateService::on(GateSession& /*session*/, const gate::Put& request) {
  return deps_.specs.put(request);
}

GateAnswer GateService::on(GateSession& /*session*/, const gate::Remove& request) {
  return deps_.specs.remove(request);
}

GateAnswer GateService::on(GateSession& /*session*/, const gate::List& request) {
  if (request.what == gate::List::What::kClaimSpecs) return deps_.specs.list(request.after);
  return done(partOf(deps_.records.groups(), request.after));
}

gate::WatchedFiles GateService::files() const {
  gate::WatchedFiles files;
  if (!deps_.rights.kubelet) return files;
  const auto asTold = [](const std::optional<FileIdentity>& identity) {
    return identity ? std::optional(told(*identity)) : std::nullopt;
  };
  const KubeletFiles kubelet = deps_.kubelet.readFiles();
  files.registration = asTold(kubelet.registration);
  files.podResources = asTold(kubelet.podResources);
  files.checkpoint = asTold(kubelet.checkpoint);
  struct stat status = {};
  if (!deps_.configuration.empty() && stat(deps_.configuration.c_str(), &status) == 0) {
    files.configuration = told(identityOf(status));
  }
  return files;
}

void GateService::sessionEnded() {
  deps_.specs.forget();
  withdrawDra();
}

void GateService::withdrawDra() const {
  const auto withdrawn = deps_.kubelet.withdrawDra();
  if (withdrawn && !*withdrawn) return;
  logLine(LogEvent::kSocketWithdrawn,
          {{"driver", text(deps_.names.draDriver)},
           {"error", withdrawn ? kj::str("none") : inWords(withdrawn.error().error)}});
}

void GateService::withdrawDraIfUnserved() const {
  if (deps_.lease.isFree()) withdrawDra();
}

}  // namespace vfiogate
