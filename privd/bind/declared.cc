#include "privd/bind/declared.h"

#include "privd/base/log_line.h"

namespace vfiogate {
namespace {

constexpr auto kRetry = 60 * kj::SECONDS;

bool isSameCard(const PciDevice& one, const PciDevice& other) {
  return one.vendor == other.vendor && one.device == other.device;
}

}  // namespace

Declared::Declared(Binder& binder, HostView& view, kj::Timer& timer, const StateDirectory& state,
                   std::vector<Selector> declared)
    : binder_(binder),
      view_(view),
      timer_(timer),
      state_(state),
      declared_(std::move(declared)),
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
      seen_ = told->snapshot;
      generation = told->generation;
    }
    return bindDue().then([this, generation]() { return watch(generation); });
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
    if (const auto by = declaredBy(device, declared_, state_.declaredAt(address))) {
      wanted_.insert_or_assign(address, Wanted{*by, timer_.now(), device, {}});
    }
  }
}

kj::Promise<void> Declared::bindDue() {
  for (const auto& [address, wanted] : wanted_) {
    if (wanted.due > timer_.now()) continue;
    return bindOne(address).then([this]() { return bindDue(); });
  }
  return kj::READY_NOW;
}

kj::Promise<void> Declared::bindOne(const Bdf& address) {
  Wanted& wanted = wanted_.at(address);
  wanted.due = timer_.now() + kRetry;
  const auto device = seen_->devices.find(address);
  if (device != seen_->devices.end()) wanted.tried = device->second;
  return binder_
      .change({.order = {.kind = ChangeKind::kBind, .addresses = {address}},
               .by = wanted.by,
               .peer = {.role = "privd"}})
      .then([this, address](ChangeReport report) {
        const auto found = wanted_.find(address);
        if (found == wanted_.end()) return;
        if (exitCodeOf(report.outcome) == 0) {
          wanted_.erase(found);
        } else if (found->second.refusal != report.error) {
          found->second.refusal = report.error;
          logLine(LogEvent::kDeclaredRefused, {{"device", kj::str(address.str().c_str())},
                                               {"why", kj::str(report.error.c_str())}});
        }
      });
}

void Declared::taskFailed(kj::Exception&& exception) {
  logLine(LogEvent::kScanFailed,
          {{"role", kj::str("binder")}, {"error", kj::str(exception.getDescription())}});
}

}  // namespace vfiogate
