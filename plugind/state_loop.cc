#include "plugind/state_loop.h"

#include "plugind/log_line.h"

#include <kj/debug.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

namespace vfiogate {
namespace {

/// An Allocate stalls the kubelet's main loop (ledger.md 4, kubelet-contract.md T14).
constexpr auto kAllocateDeadline = 2 * kj::SECONDS;

kj::Duration asKj(std::chrono::milliseconds duration) {
  return duration.count() * kj::MILLISECONDS;
}

std::chrono::sys_seconds wallClock() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

/// UNAVAILABLE: nothing is known against the device, another try may succeed.
grpc::StatusCode codeOf(const Refusal& refusal) {
  constexpr std::array<std::string_view, 3> kPassing{"privd-away", "timed-out", "cannot-tell"};
  const bool passing = std::ranges::find(kPassing, refusal.reason) != kPassing.end();
  return passing ? grpc::StatusCode::UNAVAILABLE : grpc::StatusCode::FAILED_PRECONDITION;
}

}  // namespace

StateLoop::StateLoop(Settings settings, const PrivdSides& privd, const LoopParts& loop,
                     LedgerJournal& journal, uid_t kubeletUid)
    : settings_(std::move(settings)),
      privd_(privd),
      loop_(loop),
      journal_(journal),
      kubeletUid_(kubeletUid),
      tasks_(*this) {
  tasks_.add(loop_.letterbox->run());
}

StateLoop::~StateLoop() noexcept(false) {
  loop_.letterbox->close();
}

void StateLoop::hardwareSeen(const Snapshot& snapshot) {
  snapshot_ = snapshot;
  catalog_ = sortIntoResources(settings_, snapshot_);
  if (outage_.away()) {
    if (outage_.lending() == Lending::kClosed) logInfo(LogEvent::kLendingOpened);
    outage_.end();
    grace_ = nullptr;
  }
  refreshFrames();
  for (auto& waiting : std::exchange(waitingForPrivd_, {})) waiting->fulfill();
}

void StateLoop::socketsAvailable() {
  for (auto& [name, resource] : resources_) resource->registrar().socketsAvailable();
}

void StateLoop::kubeletAppeared(const KubeletIdentity& kubelet) {
  if (std::exchange(kubelet_, kubelet) == kubelet) return;  // privd is back and says who is there
  logInfo(LogEvent::kKubeletAppeared, {{"resources", resources_.size()}});
  for (auto& [name, resource] : resources_) resource->registrar().registerNow();
}

void StateLoop::privdWent() {
  // Before the first snapshot nothing was shown, and the outage of the start goes on.
  if (outage_.away()) return;
  outage_.begin();
  grace_ = loop_.timer.afterDelay(asKj(settings_.grace))
               .then([this]() { closeLending("grace is over"); })
               .eagerlyEvaluate(nullptr);
}

void StateLoop::closeLending(const char* why) {
  if (outage_.lending() == Lending::kClosed) return;
  outage_.close();
  logWarning(LogEvent::kLendingClosed, {{"why", why}});
  refreshFrames();
}

void StateLoop::streamOpened(const ResourceName& resource,
                             std::shared_ptr<ListWatchStream> stream) {
  resources_.at(resource)->streamOpened(std::move(stream));
}

void StateLoop::streamEnded(const ResourceName& resource, const ListWatchStream& stream) {
  resources_.at(resource)->streamEnded(stream);
}

void StateLoop::refreshFrames() {
  shown_ = advertise(scene(), ledger_, shown_, outage_.lending());
  for (const auto& [name, frame] : shown_.frames) {
    if (!resources_.contains(name)) startResource(name);
    resources_.at(name)->show(frame);
  }
}

void StateLoop::startResource(const ResourceName& name) {
  logInfo(LogEvent::kResourceStarted, {{"resource", name.str()}});
  auto resource =
      std::make_unique<AdvertisedResource>(name, *this, privd_.sockets, loop_, kubeletUid_);
  resource->registrar().registerNow();
  resources_.emplace(name, std::move(resource));
}

void StateLoop::allocateAsked(const ResourceName& resource, std::shared_ptr<AllocateCall> call) {
  auto deciding = std::make_shared<Deciding>(
      Deciding{resource, std::move(call), loop_.timer.now() + kAllocateDeadline, false, {}});
  deciding_.push_back(deciding);
  tasks_.add(decide(deciding).attach(kj::defer([this, deciding]() { leave(deciding); })));
}

void StateLoop::leave(const DecidingPtr& deciding) {
  std::erase(deciding_, deciding);
  if (!deciding->call->claim()) return;
  // Only after an exception, or at the end of the process: the group returns to what it was.
  if (deciding->ticket) ledger_.cancel(*deciding->ticket);
  deciding->call->refuse(grpc::StatusCode::UNAVAILABLE, "vfiogate could not decide");
}

void StateLoop::allocateCancelled(const std::shared_ptr<AllocateCall>& call) {
  const auto found = std::ranges::find(deciding_, call, &Deciding::call);
  if (found == deciding_.end()) return;
  // What it waits for still runs; whoever goes on with it finds the call claimed.
  const Deciding& deciding = **found;
  if (deciding.ticket) ledger_.cancel(*deciding.ticket);
  journal_.refused(wallClock(), deciding.resource, call->ids(),
                   {"cancelled", "the kubelet hung up before the answer"});
  refreshFrames();
}

kj::Promise<void> StateLoop::decide(DecidingPtr deciding) {
  if (deciding->call->claimed()) return kj::READY_NOW;  // the kubelet hung up
  if (outage_.away()) return waitForPrivd(std::move(deciding));
  std::uniform_int_distribution<std::uint16_t> draw;
  const auto taken = ledger_.take(
      {deciding->resource, deciding->call->ids(), resources_.at(deciding->resource)->shown()},
      scene(), {wallClock(), draw(loop_.random)});
  if (!taken) {
    refuse(*deciding, taken.error());
    return kj::READY_NOW;
  }
  deciding->ticket = *taken;
  auto looks = lookAtAll(*deciding);
  return looks.then([this, deciding = std::move(deciding)](GroupLooks seen) mutable {
    return settle(std::move(deciding), seen);
  });
}

kj::Promise<void> StateLoop::waitForPrivd(DecidingPtr deciding) {
  if (outage_.mayWait()) {
    // Deadlines never add up: the larger one counts, from the call's arrival.
    const auto wait = asKj(settings_.allocateWait);
    if (wait > kAllocateDeadline) deciding->deadline += wait - kAllocateDeadline;
    deciding->waitsForPrivd = true;
  }
  if (!deciding->waitsForPrivd || loop_.timer.now() >= deciding->deadline) {
    closeLending("an Allocate could not be checked");
    refuse(*deciding, refusePrivdAway(deciding->call->ids()));
    return kj::READY_NOW;
  }
  auto back = kj::newPromiseAndFulfiller<void>();
  waitingForPrivd_.push_back(kj::mv(back.fulfiller));
  return back.promise.exclusiveJoin(loop_.timer.atTime(deciding->deadline))
      .then(
          [this, deciding = std::move(deciding)]() mutable { return decide(std::move(deciding)); });
}

kj::Promise<GroupLooks> StateLoop::lookAtAll(const Deciding& deciding) {
  auto looks = std::make_shared<GroupLooks>();
  auto all =
      kj::heapArrayBuilder<kj::Promise<void>>(ledger_.takings().at(*deciding.ticket).groups.size());
  for (const auto& [group, take] : ledger_.takings().at(*deciding.ticket).groups) {
    all.add(privd_.eyes.look(group)
                .exclusiveJoin(loop_.timer.atTime(deciding.deadline).then([]() {
                  return GroupLook{GroupLook::Answer::kTimedOut, {}};
                }))
                .then([looks, group = group](GroupLook look) {
                  looks->insert_or_assign(group, std::move(look));
                }));
  }
  return kj::joinPromises(all.finish()).then([looks]() { return std::move(*looks); });
}

kj::Promise<void> StateLoop::settle(DecidingPtr deciding, const GroupLooks& looks) {
  const TakeTicket ticket = *deciding->ticket;
  const bool privdWentAway = std::ranges::any_of(
      looks, [](const auto& look) { return look.second.answer == GroupLook::Answer::kPrivdAway; });
  if (privdWentAway && !deciding->call->claimed()) {  // row 48: judged anew
    ledger_.cancel(ticket);
    deciding->ticket.reset();
    refreshFrames();
    return decide(std::move(deciding));
  }
  if (!deciding->call->claim()) {  // the kubelet hung up; its letter may still be on the way
    ledger_.cancel(ticket);
    refreshFrames();
    return kj::READY_NOW;
  }
  const auto granted = ledger_.settle(ticket, looks, wallClock());
  refreshFrames();  // siblings are withdrawn on every live stream before the reply
  if (granted) {
    journal_.lent(*granted);
    deciding->call->grant(granted->response);
  } else {
    journal_.refused(wallClock(), deciding->resource, deciding->call->ids(), granted.error());
    deciding->call->refuse(codeOf(granted.error()), granted.error().text);
  }
  return kj::READY_NOW;
}

void StateLoop::refuse(const Deciding& deciding, const Refusal& refusal) {
  refreshFrames();  // the frame that says so first, so that the next pod is sent elsewhere
  if (!deciding.call->claim()) return;
  journal_.refused(wallClock(), deciding.resource, deciding.call->ids(), refusal);
  deciding.call->refuse(codeOf(refusal), refusal.text);
}

void StateLoop::taskFailed(kj::Exception&& exception) {
  logError(LogEvent::kTaskFailed, {{"task", "state_loop"}, {"why", kj::str(exception).cStr()}});
}

}  // namespace vfiogate
