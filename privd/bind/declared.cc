#include "privd/bind/declared.h"

#include "privd/base/log_line.h"

#include <algorithm>

namespace vfiogate {
namespace {

constexpr auto kRetry = 60 * kj::SECONDS;
constexpr auto kNever = 10'000 * kj::DAYS;

bool isSameCard(const PciDevice& one, const PciDevice& other) {
  return one.vendor == other.vendor && one.device == other.device;
}

}  // namespace

Declared::Declared(Binder& binder, HostView& view, kj::Timer& timer, const StateDirectory& state,
                   std::vector<Selector> declared, std::vector<WantedVfs> vfs)
    : binder_(binder),
      view_(view),
      timer_(timer),
      state_(state),
      declared_(std::move(declared)),
      vfs_(std::move(vfs)),
      seen_(std::make_shared<const Snapshot>()),
      tasks_(*this) {
  tasks_.add(watch(0));
}

kj::Promise<void> Declared::watch(std::uint64_t seen) {
  auto news = view_.next(seen).then(
      [](HostView::Current current) { return kj::Maybe<HostView::Current>(kj::mv(current)); });
  auto retry = timer_.afterDelay(kRetry).then([]() { return kj::Maybe<HostView::Current>(); });
  return news.exclusiveJoin(kj::mv(retry)).then([this, seen](kj::Maybe<HostView::Current> current) {
    std::uint64_t generation = seen;
    KJ_IF_MAYBE (told, current) {
      notice(*told->snapshot);
      tellAwaited(*told->snapshot);
      seen_ = told->snapshot;
      generation = told->generation;
    }
    return carryOutDue().then([this, generation]() { return watch(generation); });
  });
}

void Declared::notice(const Snapshot& snapshot) {
  std::erase_if(wanted_,
                [&](const auto& entry) { return !snapshot.devices.contains(entry.first); });
  for (const auto& [address, device] : snapshot.devices) {
    const auto known = wanted_.find(address);
    if (known != wanted_.end() && isSameCard(known->second.tried, device)) {
      if (known->second.tried != device) known->second.due = timer_.now();
      continue;
    }
    if (known != wanted_.end()) wanted_.erase(known);
    const auto before = seen_->devices.find(address);
    // A card in another one's place has appeared, too.
    if (before != seen_->devices.end() && isSameCard(before->second, device)) continue;
    if (const auto vfs = vfsFor(device, vfs_)) {
      wanted_.insert_or_assign(
          address, Wanted{ChangeBy::kDeclaration, timer_.now(), device, *vfs, {}, false});
    } else if (const auto by = declaredBy(device, declared_, state_.declaredAt(address))) {
      wanted_.insert_or_assign(address, Wanted{*by, timer_.now(), device, 0, {}, false});
    }
  }
}

void Declared::tellAwaited(const Snapshot& snapshot) {
  for (const WantedVfs& one : vfs_) {
    const bool there = std::ranges::any_of(
        snapshot.devices, [&](const auto& entry) { return isAbout(one, entry.second); });
    if (there) {
      awaited_.erase(one.text);
    } else if (awaited_.insert(one.text).second) {
      logLine(LogEvent::kVfsAwaited, {{"vfs", kj::str(one.text.c_str())}});
    }
  }
}

/// One after the other, but for those that make virtual functions: that may take a minute.
kj::Promise<void> Declared::carryOutDue() {
  for (auto& [address, wanted] : wanted_) {
    if (wanted.running || wanted.due > timer_.now()) continue;
    if (wanted.vfs == 0) return carryOut(address).then([this]() { return carryOutDue(); });
    tasks_.add(carryOut(address));
  }
  return kj::READY_NOW;
}

kj::Promise<void> Declared::carryOut(const Bdf& address) {
  Wanted& wanted = wanted_.at(address);
  wanted.running = true;
  // What the kernel refused to make, it refuses until something changes.
  wanted.due = timer_.now() + (wanted.vfs == 0 ? kRetry : kNever);
  const auto device = seen_->devices.find(address);
  if (device != seen_->devices.end()) wanted.tried = device->second;
  const ChangeKind kind = wanted.vfs == 0 ? ChangeKind::kBind : ChangeKind::kCreateVfs;
  ChangeRequest request{.by = wanted.by, .peer = {.role = "privd"}};
  request.order.kind = kind;
  request.order.addresses = {address};
  request.order.vfs = wanted.vfs;
  return binder_.change(kj::mv(request)).then([this, address](ChangeReport report) {
    settle(address, report);
  });
}

void Declared::settle(const Bdf& address, const ChangeReport& report) {
  const auto found = wanted_.find(address);
  if (found == wanted_.end()) return;
  Wanted& wanted = found->second;
  wanted.running = false;
  if (exitCodeOf(report.outcome) == 0) {
    // The new functions are in groups of their own.
    if (wanted.vfs > 0) view_.wake();
    wanted_.erase(found);
    return;
  }
  if (report.outcome == ChangeOutcome::kRefused) {
    wanted.due = std::min(wanted.due, timer_.now() + kRetry);
  }
  if (wanted.refusal == report.error) return;
  wanted.refusal = report.error;
  logLine(LogEvent::kDeclaredRefused,
          {{"device", kj::str(address.str().c_str())}, {"why", kj::str(report.error.c_str())}});
}

void Declared::taskFailed(kj::Exception&& exception) {
  logLine(LogEvent::kScanFailed,
          {{"role", kj::str("binder")}, {"error", kj::str(exception.getDescription())}});
}

}  // namespace vfiogate
