#include "privd/gate/gate_service.h"

#include "privd/base/log_line.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <optional>
#include <utility>
#include <variant>

namespace vfiogate {
namespace {

using gate::Code;
using gate::Open;

/// Of the requests, in the order of their numbers.
constexpr std::array<const char*, gate::kRequests> kNames{"enter", "adopted", "seen",     "listen",
                                                          "dial",  "open",    "allocate", "release",
                                                          "put",   "remove",  "list"};

/// Bytes of an answer beside the allocations in it.
constexpr std::size_t kAroundAllocations = 64;

bool may(const Rights& rights, const gate::Request& request) {
  if (const auto* open = std::get_if<Open>(&request)) {
    return open->file == Open::File::kClaimSpec ? rights.cdi : rights.kubelet;
  }
  if (const auto* list = std::get_if<gate::List>(&request)) {
    return list->what != gate::List::What::kClaimSpecs || rights.cdi;
  }
  if (std::holds_alternative<gate::Put>(request) || std::holds_alternative<gate::Remove>(request)) {
    return rights.cdi;
  }
  return std::holds_alternative<gate::Enter>(request) ||
         std::holds_alternative<gate::Adopted>(request) ||
         std::holds_alternative<gate::Seen>(request) || rights.kubelet;
}

/// The listener of `whose`, or why there is none.
GateAnswer listening(Result<KubeletGate::Listener, SocketError> made, const LogField& whose) {
  if (!made) {
    const SocketError error = made.error();
    logLine(LogEvent::kSocketFailed,
            {whose, {"step", error.step}, {"error", strerror(error.error)}});
    return refused(Code::kFailed, error.error);
  }
  KubeletGate::Listener listener = kj::mv(made).value();
  logLine(LogEvent::kSocketMade, {whose, {"name", listener.endpoint}});
  GateAnswer answer = done(gate::Endpoint{listener.endpoint.cStr()});
  answer.fd = kj::mv(listener.fd);
  return answer;
}

/// As many as fit into one answer. Those that begin with one device are never parted: `after` could
/// not tell them apart.
gate::Allocations partOf(std::vector<AllocationRecords::Group> groups, const std::string& after) {
  const auto first = [](const auto& group) { return group->members.front(); };
  std::ranges::stable_sort(groups, {}, first);
  gate::Allocations part;
  std::size_t size = kAroundAllocations;
  const auto last = UnitId::parse(after);
  for (const auto& group : groups) {
    if (last && first(group) <= *last) continue;
    part.groups.push_back({group->members, group->note});
    size += sizeOf(part.groups.back());
    if (size > gate::kLargestAnswer) {
      std::erase_if(part.groups, [&](const gate::Allocation& one) {
        return one.members.front() == group->members.front();
      });
      part.more = true;
      return part;
    }
  }
  return part;
}

}  // namespace

GateAnswer GateService::answer(GateSession& session, const gate::Request& request) {
  GateAnswer answer = may(deps_.rights, request)
                          ? std::visit([&](const auto& one) { return on(session, one); }, request)
                          : refused(Code::kDenied);
  logRefused(session, request, answer.answer);
  return answer;
}

void GateService::logRefused(GateSession& session, const gate::Request& request,
                             const gate::Answer& answer) {
  const bool foreign = answer.code == Code::kForeign && std::holds_alternative<gate::Put>(request);
  const char* reason = answer.code == Code::kDenied          ? "--plugind-rights does not have it"
                       : answer.code == Code::kBadName       ? "no name of a resource or kind"
                       : answer.code == Code::kBad           ? answer.words.c_str()
                       : answer.code == Code::kWrongProtocol ? "another protocol"
                       : foreign                             ? "no --resource-prefix covers it"
                                                             : nullptr;
  const std::size_t kind = request.index();
  if (reason == nullptr || session.loggedAsRefused.test(kind)) return;
  session.loggedAsRefused.set(kind);
  logLine(LogEvent::kRequestRefused,
          {{"role", "gate"}, {"request", kNames.at(kind)}, {"reason", reason}});
}

GateAnswer GateService::on(GateSession& session, const gate::Enter& request) {
  if (request.protocol != gate::kProtocol) return refused(Code::kWrongProtocol, gate::kProtocol);
  auto taken = deps_.lease.take(session.entered ? session.lease : request.lease);
  if (!taken && taken.error().error != EWOULDBLOCK) {
    return refused(Code::kFailed, taken.error().error);
  }
  if (!taken) {
    if (!session.waits) logLine(LogEvent::kPlugindWaits);
    session.waits = true;
    return refused(Code::kLeased);
  }
  PlugindLease::Leased leased = kj::mv(taken).value();
  session.lease = leased.ticket;
  GateAnswer answer = done(gate::Entered{leased.ticket, deps_.records.complete()});
  answer.fd = kj::mv(leased.lock);
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
  if (request.kind != gate::Listen::Kind::kResource) {
    if (deps_.names.draDriver.empty() || request.name != deps_.names.draDriver) {
      logLine(LogEvent::kSocketRefused, {{"driver", request.name}, {"reason", "not --dra-driver"}});
      return refused(Code::kForeign);
    }
    return listening(deps_.kubelet.listenDra(request.kind), {"driver", request.name});
  }
  const auto resource = ResourceName::parse(request.name);
  if (!resource) return refused(Code::kBadName);
  if (const Code refusal = deps_.kubelet.refuse(*resource); refusal != Code::kDone) {
    const bool foreign = refusal == Code::kForeign;
    logLine(LogEvent::kSocketRefused,
            {{"resource", resource->str()},
             {"reason", foreign ? "no --resource-prefix covers it" : "64 are served"}});
    return refused(refusal);
  }
  return listening(deps_.kubelet.listen(*resource), {"resource", resource->str()});
}

GateAnswer GateService::on(GateSession& /*session*/, const gate::Dial& request) {
  auto made = deps_.kubelet.dial(request.socket);
  if (!made) {
    const int error = made.error().error;
    logLine(LogEvent::kKubeletAbsent, {{"error", strerror(error)}});
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
  return openClaim(request.uid);
}

GateAnswer GateService::openCheckpoint() const {
  GateAnswer answer = handed(deps_.kubelet.openCheckpoint());
  // After the file was opened: a kubelet that starts in between makes the file one of an earlier
  // kubelet's, which it is.
  const auto kubelet = deps_.kubelet.readFiles().registration;
  auto* file = std::get_if<gate::OpenedFile>(&answer.answer.outcome);
  if (file != nullptr) file->kubelet = kubelet;
  return answer;
}

GateAnswer GateService::on(GateSession& session, const gate::Allocate& request) {
  if (deps_.records.allocate(request.members, request.note, session.record)) return done();
  const int error = deps_.records.lastError();
  if (error == EWOULDBLOCK) return refused(Code::kBusy);
  logLine(LogEvent::kRecordFailed,
          {{"device", request.members.front().str()}, {"error", strerrordesc_np(error)}});
  return refused(Code::kFailed, error);
}

GateAnswer GateService::on(GateSession& /*session*/, const gate::Release& request) {
  deps_.records.release(request.members);
  return done();
}

GateAnswer GateService::on(GateSession& /*session*/, const gate::List& request) {
  switch (request.what) {
    case gate::List::What::kClaimSpecs:
      return claimsAfter(request.after);
    case gate::List::What::kAllocations:
      return done(partOf(deps_.records.groups(), request.after));
    case gate::List::What::kExclusions:
      break;
  }
  return exclusionsAfter(request.after);
}

GateAnswer GateService::exclusionsAfter(const std::string& last) const {
  auto devices = devicesNamedIn(AT_FDCWD, deps_.exclusions.c_str());
  if (!devices) return refused(Code::kFailed, devices.error().error);
  gate::Exclusions part{.devices = std::move(devices).value(), .more = false};
  if (const auto told = UnitId::parse(last)) {
    std::erase_if(part.devices, [&told](const UnitId& device) { return device <= *told; });
  }
  part.more = part.devices.size() > gate::kMostExclusions;
  if (part.more) part.devices.resize(gate::kMostExclusions, part.devices.front());
  return done(std::move(part));
}

/// Where they cannot be listed this is the errno, and List says so, too.
std::uint64_t GateService::exclusionsNow() {
  const auto devices = devicesNamedIn(AT_FDCWD, deps_.exclusions.c_str());
  if (!devices) return static_cast<std::uint64_t>(devices.error().error);
  std::string all;
  for (const UnitId& device : *devices) all += device.str();
  const std::uint64_t number = all.empty() ? 0 : std::hash<std::string>()(all);
  if (std::exchange(toldExclusions_, number) != number) {
    logLine(LogEvent::kExclusions,
            {{"devices", kj::str(devices->size())}, {"role", kj::str("gate")}});
  }
  return number;
}

gate::WatchedFiles GateService::files() {
  gate::WatchedFiles files;
  if (deps_.rights.kubelet) {
    files = deps_.kubelet.readFiles();
    struct stat status = {};
    if (!deps_.configuration.empty() && stat(deps_.configuration.c_str(), &status) == 0) {
      files.configuration = told(identityOf(status));
    }
  }
  files.exclusions = exclusionsNow();
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
          {{"driver", deps_.names.draDriver},
           {"error", withdrawn ? "none" : strerror(withdrawn.error().error)}});
}

void GateService::withdrawDraIfUnserved() const {
  if (deps_.lease.isFree()) withdrawDra();
}

}  // namespace vfiogate
