#include "plugind/privd/gate_entry.h"

#include "plugind/base/log_line.h"

#include <cstring>
#include <string>
#include <utility>
#include <variant>

namespace vfiogate {
namespace {

/// Between two questions whether the node is free.
constexpr BackoffRange<kj::Duration> kPauses{250 * kj::MILLISECONDS, 2 * kj::SECONDS};
/// Of one node: the functions of one PCI segment.
constexpr std::size_t kMostGroups = 65'536;

}  // namespace

GateEntry::GateEntry(ChannelToGate& gate, SessionCalls& calls, NodeLease& lease, kj::Timer& timer)
    : gate_(gate), calls_(calls), lease_(lease), timer_(timer), pauses_(kPauses) {}

kj::Promise<RecordedAllocations> GateEntry::run() {
  return gate_.enter({.protocol = gate::kProtocol, .lease = lease_.number})
      .then([this](GateReply reply) { return take(kj::mv(reply)); });
}

kj::Promise<RecordedAllocations> GateEntry::take(GateReply reply) {
  const gate::Answer& answer = reply.answer;
  if (answer.code == gate::Code::kLeased) return askLater();
  if (answer.code == gate::Code::kWrongProtocol) {
    return hangUp("its gate speaks protocol " + std::to_string(answer.detail) +
                  ", this is protocol " + std::to_string(gate::kProtocol) +
                  ": update both to the same release");
  }
  if (answer.code == gate::Code::kFailed) {
    return hangUp(std::string("its gate cannot lease the node: ") + strerror(answer.detail));
  }
  const auto* entered = std::get_if<gate::Entered>(&answer.outcome);
  if (answer.code != gate::Code::kDone || entered == nullptr) {
    return hangUp("its gate answered the entry with nonsense");
  }
  if (entered->lease != lease_.number) {
    KJ_IF_MAYBE (lock, reply.fd) {
      lease_ = NodeLease{entered->lease, kj::mv(*lock)};
    } else {
      return hangUp("its gate gave a lease without the lock");
    }
  }
  gate_.entered();
  return readOn({.groups = {}, .complete = entered->complete});
}

kj::Promise<RecordedAllocations> GateEntry::askLater() {
  if (!pauses_.hasFailed()) {
    logWarning(LogEvent::kLeaseAwaited, {{"why", "another plugind allocates on this node"},
                                         {"then", "waits until that one ends"}});
  }
  return timer_.afterDelay(pauses_.next()).then([this]() { return run(); });
}

kj::Promise<RecordedAllocations> GateEntry::readOn(RecordedAllocations recorded) {
  std::string after;
  if (!recorded.groups.empty()) after = recorded.groups.back().members.begin()->str();
  return gate_.ask(gate::List{gate::List::What::kAllocations, after})
      .then([this, recorded = std::move(recorded)](
                GateReply reply) mutable -> kj::Promise<RecordedAllocations> {
        auto* part = std::get_if<gate::Allocations>(&reply.answer.outcome);
        if (reply.answer.code != gate::Code::kDone || part == nullptr) {
          return hangUp("its gate does not tell what is allocated");
        }
        const std::size_t before = recorded.groups.size();
        for (gate::Allocation& one : part->groups) {
          recorded.groups.push_back(
              {{one.members.begin(), one.members.end()}, std::move(one.note)});
        }
        if (!part->more) return std::move(recorded);
        const bool grows =
            before == 0 || (!part->groups.empty() && *recorded.groups[before - 1].members.begin() <
                                                         *recorded.groups.back().members.begin());
        if (part->groups.empty() || !grows || recorded.groups.size() > kMostGroups) {
          return hangUp("its record of allocations makes no sense");
        }
        return readOn(std::move(recorded));
      });
}

kj::Promise<RecordedAllocations> GateEntry::hangUp(const std::string& why) {
  calls_.hangUp(why);
  return kj::NEVER_DONE;
}

}  // namespace vfiogate
