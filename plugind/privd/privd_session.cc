#include "plugind/privd/privd_session.h"

#include "ipc/codec/checked_fields.h"
#include "ipc/codec/limits.h"
#include "plugind/base/log_line.h"
#include "plugind/privd/files_observer.h"

#include <kj/debug.h>

#include <utility>

namespace vfiogate {
namespace {

/// privd answers at once, or is not privd.
constexpr auto kEnterPatience = 5 * kj::SECONDS;
/// Between two questions whether the node is free.
constexpr BackoffRange<kj::Duration> kEntryPauses{250 * kj::MILLISECONDS, 2 * kj::SECONDS};
/// The gate's tickets begin after it.
constexpr std::uint32_t kLeaseTicket = 0;

std::string describe(const kj::Exception& exception) {
  return exception.getDescription().cStr();
}

/// Why a session did not come about; the exchange of versions comes first in it.
std::string whyNotEntered(schema::EnterAnswer::Reader answer) {
  if (!answer.isWrongProtocol()) return "it answered the exchange of versions with nonsense";
  return "it speaks protocol " + std::to_string(answer.getWrongProtocol()) + ", this is protocol " +
         std::to_string(schema::PROTOCOL) + ": update both to the same release";
}

}  // namespace

PrivdSession::PrivdSession(PrivdOpening opening, PrivdEvents& events, NodeLease& lease,
                           const LoopDeps& loop)
    : events_(events),
      lease_(lease),
      loop_(loop),
      descriptors_(std::make_shared<DescriptorReceiver>(loop.port, kj::mv(opening.channel))),
      privd_(loop.streams, kj::mv(opening.connection), kFromPrivd),
      calls_(loop.timer),
      hardware_(events, calls_, loop.timer),
      specs_(calls_),
      entryPauses_(kEntryPauses) {}

PrivdSession::~PrivdSession() noexcept(false) {
  calls_.end();
}

kj::Promise<std::string> PrivdSession::run() {
  auto left = privd_.ended().then([]() { return std::string("it left"); });
  auto served = calls_.keep(enter()).then(
      []() -> kj::Promise<std::string> { return kj::NEVER_DONE; },
      [](kj::Exception&& failure) -> kj::Promise<std::string> { return describe(failure); });
  return left.exclusiveJoin(calls_.over()).exclusiveJoin(kj::mv(served));
}

kj::Promise<void> PrivdSession::enter() {
  return askEntry().then([this]() {
    // The gate first: what the hardware starts wants its sockets at once.
    auto opened = openGate().then([this]() { return hardware_.subscribe(); });
    return loop_.timer.timeoutAfter(kEnterPatience, kj::mv(opened)).then([this]() {
      entered_ = true;
      watchConfig();
      logInfo(LogEvent::kPrivdCame);
    });
  });
}

kj::Promise<void> PrivdSession::askEntry() {
  auto request = privd_.bootstrap<schema::Handshake>().enterRequest();
  request.setProtocol(schema::PROTOCOL);
  request.setTicket(kLeaseTicket);
  request.setLease(lease_.number);
  auto lock =
      descriptors_->await(kLeaseTicket, DescriptorKind::kLock)
          .attach(kj::defer([descriptors = descriptors_]() { descriptors->forget(kLeaseTicket); }));
  return loop_.timer.timeoutAfter(kEnterPatience, request.send())
      .then([this, lock = kj::mv(lock)](
                Response<schema::Handshake::EnterResults> response) mutable -> kj::Promise<void> {
        const auto answer = response.getAnswer();
        if (answer.isLeased()) {
          lock = nullptr;
          return askEntryLater();
        }
        if (!answer.isSession()) {
          calls_.hangUp(whyNotEntered(answer));
          return kj::NEVER_DONE;
        }
        calls_.begin(answer.getSession());
        tellAllocations(answer);
        events_.rightToBindTold(answer.getMayBind());
        const auto number = answer.getLease();
        if (number == lease_.number) return kj::READY_NOW;
        return lock.then([this, number](kj::AutoCloseFd arrived) {
          lease_ = NodeLease{number, kj::mv(arrived)};
        });
      });
}

void PrivdSession::tellAllocations(schema::EnterAnswer::Reader answer) {
  RecordedAllocations recorded{.groups = {}, .complete = answer.getAllocatedComplete()};
  CheckedFields fields;
  fields.each("allocated", answer.getAllocated(), kMaxFunctions,
              [&](schema::AllocatedGroup::Reader group) {
                RecordedGroup& one = recorded.groups.emplace_back();
                fields.each("members", group.getMembers(), kMaxFunctions,
                            [&](schema::Address::Reader member) {
                              one.members.insert(fields.address("address", member));
                            });
                one.note = std::string(group.getNote().cStr());
              });
  if (const auto& error = fields.error()) {
    return calls_.hangUp("its record of allocations makes no sense: " + *error);
  }
  events_.allocationsTold(recorded);
}

kj::Promise<void> PrivdSession::askEntryLater() {
  if (!entryPauses_.hasFailed()) {
    logWarning(LogEvent::kLeaseAwaited, {{"why", "another plugind allocates on this node"},
                                         {"then", "waits until that one ends"}});
  }
  return loop_.timer.afterDelay(entryPauses_.next()).then([this]() { return askEntry(); });
}

kj::Promise<void> PrivdSession::openGate() {
  auto request = KJ_ASSERT_NONNULL(calls_.session()).kubeletRequest();
  return request.send().then(
      [this](Response<schema::Session::KubeletResults> response) -> kj::Promise<void> {
        const auto answer = response.getAnswer();
        if (!answer.isGate()) {
          calls_.hangUp("it gives no right to the kubelet's sockets: see privd's --plugind-rights");
          return kj::READY_NOW;
        }
        gate_.emplace(answer.getGate(), descriptors_, calls_);
        return KJ_ASSERT_NONNULL(gate_).watch(kj::heap<FilesObserver>(events_)).then([this]() {
          events_.socketsAvailable();
        });
      });
}

void PrivdSession::watchConfig() {
  config_.emplace(KJ_ASSERT_NONNULL(calls_.session()), descriptors_, events_, loop_.timer);
  watchingConfig_ =
      KJ_ASSERT_NONNULL(config_).run().eagerlyEvaluate([this](kj::Exception&& failure) {
        const auto type = failure.getType();
        const bool older = type == kj::Exception::Type::UNIMPLEMENTED;  // it watches none
        if (!older && type != kj::Exception::Type::DISCONNECTED) calls_.hangUp(describe(failure));
      });
}

}  // namespace vfiogate
