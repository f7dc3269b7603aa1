#include "privd/binder/binder_channel.h"

#include "ipc/gate/packet_socket.h"
#include "privd/base/log_line.h"
#include "privd/bind/assessment.h"
#include "privd/scan/pci_scan.h"

#include <algorithm>
#include <cerrno>
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

std::string_view nameOf(ChangeKind kind) {
  return kind == ChangeKind::kBind ? "bind" : "give-back";
}

binder::Probed probedOf(std::uint32_t number, int error) {
  using Found = binder::Probed::Found;
  if (error == 0) return {number, Found::kIdle, 0};
  if (error == EBUSY) return {number, Found::kOpen, 0};
  return {number, Found::kCannot, static_cast<std::uint16_t>(error)};
}

binder::SerialTold toldOf(std::uint32_t number, SerialRead read) {
  using Found = binder::SerialTold::Found;
  if (read.error != 0) {
    return {number, Found::kCannot, static_cast<std::uint16_t>(read.error), {}};
  }
  const Found found = read.serial.empty() ? Found::kNone : Found::kSerial;
  return {number, found, 0, std::move(read.serial)};
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
  for (std::size_t packets = 0; !isOver_; ++packets) {
    if (packets == binder::kMostInFlight) {
      return deps_.timer.afterDelay(0 * kj::SECONDS).then([this]() { return receive(); });
    }
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
  if (const auto* probe = std::get_if<binder::Probe>(&*request)) return take(*probe);
  if (const auto* serial = std::get_if<binder::ReadSerial>(&*request)) return take(*serial);
  if (!std::exchange(awaitsSeen_, false)) return end("has seen what it was not told");
  flush();
}

bool BinderChannel::admit(std::uint32_t number, Asked asked) {
  if (inFlight_.size() == binder::kMostInFlight) {
    end("more requests at once than it may");
    return false;
  }
  const auto clashes = [&](const auto& other) {
    const auto isTheirs = [&other](const Bdf& member) {
      return std::ranges::binary_search(other.second.members, member);
    };
    const bool sameRead = asked.read && other.second.read == asked.read;
    return other.first == number || sameRead || std::ranges::any_of(asked.members, isTheirs);
  };
  if (std::ranges::any_of(inFlight_, clashes)) {
    end("a second request for a group or card");
    return false;
  }
  inFlight_[number] = std::move(asked);
  return true;
}

void BinderChannel::take(std::uint32_t number, const std::vector<Bdf>& members, ChangeKind kind) {
  if (!admit(number, {.members = members})) return;
  if (deps_.binder == nullptr) {
    return deny(number, nameOf(kind), binder::Answer{number, binder::Answer::Outcome::kDenied, {}});
  }
  tasks_.add(change(members, kind).then([this, number](AllocationAnswer told) {
    answer(number, binder::Answer{number, outcomeOf(told.outcome), std::move(told.why)});
  }));
}

void BinderChannel::take(const binder::Probe& request) {
  const std::uint32_t number = request.number;
  if (!admit(number, {.read = request.group})) return;
  if (deps_.probes == nullptr) {
    return deny(number, "probe", binder::Probed{number, binder::Probed::Found::kDenied, 0});
  }
  tasks_.add(deps_.probes->probe(request.group).then([this, number](int error) {
    answer(number, probedOf(number, error));
  }));
}

void BinderChannel::take(const binder::ReadSerial& request) {
  const std::uint32_t number = request.number;
  if (!admit(number, {.read = request.device})) return;
  if (deps_.serials == nullptr) {
    return deny(number, "read-serial",
                binder::SerialTold{number, binder::SerialTold::Found::kDenied, 0, {}});
  }
  tasks_.add(deps_.serials->read(request.device).then([this, number](SerialRead read) {
    answer(number, toldOf(number, std::move(read)));
  }));
}

kj::Promise<AllocationAnswer> BinderChannel::change(const std::vector<Bdf>& members,
                                                    ChangeKind kind) {
  if (!isWholeGroup(members)) return AllocationAnswer{AllocationAnswer::Outcome::kVanished, {}};
  const bool binds = kind == ChangeKind::kBind;
  if (binds && !deps_.allocations.isAllocated({members.begin(), members.end()})) {
    constexpr const char* kWhy = "it is not on record as allocated";
    logRefused(nameOf(kind), kWhy);
    return AllocationAnswer{AllocationAnswer::Outcome::kRefused, kWhy};
  }
  return binds ? deps_.binder->bind(members) : deps_.binder->giveBack(members);
}

bool BinderChannel::isWholeGroup(const std::vector<Bdf>& members) const {
  const auto groups = groupsOf(deps_.sysfs, {members.front()});
  if (!groups) return false;
  const auto group = readGroup(deps_.sysfs, deps_.dev, *groups->begin());
  return group && group->members == members;
}

void BinderChannel::deny(std::uint32_t number, std::string_view request,
                         binder::FromBinder answer) {
  logRefused(request, "--plugind-rights does not have it");
  this->answer(number, std::move(answer));
}

void BinderChannel::logRefused(std::string_view request, std::string_view reason) {
  if (!loggedAsRefused_.insert(request).second) return;
  logLine(LogEvent::kRequestRefused,
          {{"role", "binder"}, {"request", std::string(request)}, {"reason", std::string(reason)}});
}

void BinderChannel::answer(std::uint32_t number, binder::FromBinder answer) {
  answers_.emplace_back(number, std::move(answer));
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
  for (const auto& [number, answer] : std::exchange(answers_, {})) {
    inFlight_.erase(number);
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
