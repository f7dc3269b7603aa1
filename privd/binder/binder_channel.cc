#include "privd/binder/binder_channel.h"

#include "ipc/gate/packet_socket.h"
#include "privd/bind/assessment.h"
#include "privd/scan/pci_scan.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace vfiogate {
namespace {

binder::Answer::Outcome outcomeOf(AllocationAnswer::Outcome outcome) {
  switch (outcome) {
    case AllocationAnswer::Outcome::kDone:
      return binder::Answer::Outcome::kDone;
    case AllocationAnswer::Outcome::kRefused:
      return binder::Answer::Outcome::kRefused;
    case AllocationAnswer::Outcome::kFailed:
      return binder::Answer::Outcome::kFailed;
    case AllocationAnswer::Outcome::kStuck:
      return binder::Answer::Outcome::kStuck;
    case AllocationAnswer::Outcome::kVanished:
      return binder::Answer::Outcome::kVanished;
  }
  return binder::Answer::Outcome::kFailed;
}

}  // namespace

BinderChannel::BinderChannel(const Deps& deps, kj::AutoCloseFd socket)
    : deps_(deps),
      socket_(kj::mv(socket)),
      observer_(deps.port, socket_.get(), kj::UnixEventPort::FdObserver::OBSERVE_READ),
      tasks_(*this) {
  tasks_.add(receive());
  tasks_.add(watch(0));
}

kj::Promise<void> BinderChannel::receive() {
  while (!isOver_) {
    auto received = receivePacket(socket_, binder::kLargestRequest);
    if (!received) {
      end(received.error() == kPeerLeft ? std::string() : received.error());
      break;
    }
    auto arrived = kj::mv(received).value();
    KJ_IF_MAYBE (packet, arrived) {
      if (packet->fd != nullptr) {
        end("sent a descriptor");
      } else {
        take(packet->bytes);
      }
    } else {
      return observer_.whenBecomesReadable().then([this]() { return receive(); });
    }
  }
  return kj::READY_NOW;
}

kj::Promise<void> BinderChannel::watch(std::uint64_t seen) {
  return deps_.view.next(seen).then([this](const HostView::Current& current) {
    flush();
    return watch(current.generation);
  });
}

void BinderChannel::take(const std::string& packet) {
  const auto request = binder::decodeRequest(packet);
  if (!request) return end("a request with " + request.error());
  if (const auto* bind = std::get_if<binder::Bind>(&*request)) {
    return take(bind->number, bind->members, ChangeKind::kBind);
  }
  if (const auto* back = std::get_if<binder::GiveBack>(&*request)) {
    return take(back->number, back->members, ChangeKind::kUnbind);
  }
  if (!std::exchange(awaitsSeen_, false)) return end("has seen what it was not told");
  flush();
}

void BinderChannel::take(std::uint32_t number, const std::vector<Bdf>& members, ChangeKind kind) {
  if (inFlight_.size() == binder::kMostInFlight) return end("more requests at once than it may");
  const auto clashes = [&](const auto& other) {
    const auto isTheirs = [&other](const Bdf& member) {
      return std::ranges::binary_search(other.second, member);
    };
    return other.first == number || std::ranges::any_of(members, isTheirs);
  };
  if (std::ranges::any_of(inFlight_, clashes)) return end("a second request for a group");
  inFlight_[number] = members;
  if (deps_.binder == nullptr) return answer({number, binder::Answer::Outcome::kDenied, {}});
  tasks_.add(change(members, kind).then([this, number](AllocationAnswer told) {
    answer({number, outcomeOf(told.outcome), std::move(told.why)});
  }));
}

kj::Promise<AllocationAnswer> BinderChannel::change(const std::vector<Bdf>& members,
                                                    ChangeKind kind) const {
  const bool binds = kind == ChangeKind::kBind;
  if (binds && !deps_.allocations.isAllocated({members.begin(), members.end()})) {
    return AllocationAnswer{AllocationAnswer::Outcome::kRefused,
                            "it is not on record as allocated"};
  }
  if (!isWholeGroup(members)) return AllocationAnswer{AllocationAnswer::Outcome::kVanished, {}};
  return binds ? deps_.binder->bind(members) : deps_.binder->giveBack(members);
}

bool BinderChannel::isWholeGroup(const std::vector<Bdf>& members) const {
  const auto groups = groupsOf(deps_.sysfs, {members.front()});
  if (!groups) return false;
  const auto group = readGroup(deps_.sysfs, deps_.dev, *groups->begin());
  return group && group->members == members;
}

void BinderChannel::answer(binder::Answer answer) {
  answers_.push_back(std::move(answer));
  flush();
}

void BinderChannel::flush() {
  if (isOver_ || awaitsSeen_) return;
  const auto news = told_.news(*deps_.view.current().snapshot, deps_.binder != nullptr);
  if (news) {
    awaitsSeen_ = true;
    send(*news);
    if (news->more) return;
  }
  for (const binder::Answer& answer : std::exchange(answers_, {})) {
    inFlight_.erase(answer.number);
    send(answer);
  }
}

void BinderChannel::send(const binder::FromBinder& message) {
  if (isOver_) return;
  switch (sendPacket(socket_, encode(message))) {
    case PacketSent::kSent:
      return;
    case PacketSent::kGone:
      return end({});
    case PacketSent::kFull:
    case PacketSent::kTooManyRefs:
      return end("does not take what it is told");
  }
}

void BinderChannel::end(std::string why) {
  isOver_ = true;
  over_.fulfiller->fulfill(kj::mv(why));
}

void BinderChannel::taskFailed(kj::Exception&& exception) {
  end(exception.getDescription().cStr());
}

}  // namespace vfiogate
