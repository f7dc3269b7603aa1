#include "tests/support/played/fake_privd_binder.h"

#include "ipc/gate/packet_socket.h"

#include <kj/debug.h>

#include <utility>
#include <variant>

namespace vfiogate::test {
namespace {

/// Above the numbers of devices that were on VFIO from the beginning.
constexpr std::uint32_t kFirstVfioDev = 1000;

void bindMembers(Play& play, const IommuGroup& group) {
  for (const Bdf& member : group.members) {
    PciDevice& device = play.hardware.devices.at(member);
    if (!isEndpoint(device) || offersVfio(device)) continue;
    play.formerDrivers[member] = device.driver;
    device.driver = "vfio-pci";
    device.vfioDev = kFirstVfioDev + static_cast<std::uint32_t>(play.formerDrivers.size());
    device.cdevNode = true;
  }
}

void giveMembersBack(Play& play, const IommuGroup& group) {
  for (const Bdf& member : group.members) {
    const auto former = play.formerDrivers.find(member);
    if (former == play.formerDrivers.end()) continue;
    PciDevice& device = play.hardware.devices.at(member);
    device.driver = former->second;
    device.vfioDev.reset();
    device.cdevNode = false;
    play.formerDrivers.erase(former);
  }
}

IommuGroup* groupOf(Play& play, const std::vector<Bdf>& members) {
  for (auto& [id, group] : play.hardware.groups) {
    if (group.members == members) return &group;
  }
  return nullptr;
}

binder::GroupState stateOf(const IommuGroup& group) {
  binder::GroupState state{.id = group.id, .members = group.members, .binding = group.binding};
  state.binding.excluded = false;
  return state;
}

binder::Answer answerOf(std::uint32_t number, FakePrivd::Binding ended) {
  using Outcome = binder::Answer::Outcome;
  switch (ended) {
    case FakePrivd::Binding::kRefused:
      return {number, Outcome::kRefused, "nvme0n1 is mounted at /srv"};
    case FakePrivd::Binding::kFails:
      return {number, Outcome::kFailed, "bind: EBUSY"};
    case FakePrivd::Binding::kStuck:
      return {number, Outcome::kStuck, "unbind has not come back"};
    case FakePrivd::Binding::kSucceeds:
    case FakePrivd::Binding::kWaits:
      break;
  }
  return {number, Outcome::kDone, ""};
}

}  // namespace

PlayedBinder::PlayedBinder(Play& play, kj::UnixEventPort& port, kj::AutoCloseFd channel)
    : play_(play),
      channel_(kj::mv(channel)),
      readable_(port, channel_.get(), kj::UnixEventPort::FdObserver::OBSERVE_READ),
      changes_(*this) {
  tellNews();
}

kj::Promise<void> PlayedBinder::serve() {
  for (;;) {
    auto received = receivePacket(channel_, binder::kLargestRequest);
    if (!received) return kj::READY_NOW;
    auto arrived = kj::mv(received).value();
    KJ_IF_MAYBE (packet, arrived) {
      take(binder::decodeRequest(packet->bytes).value());
    } else {
      return readable_.whenBecomesReadable().then([this]() { return serve(); });
    }
  }
}

void PlayedBinder::take(const binder::Request& request) {
  if (const auto* bind = std::get_if<binder::Bind>(&request)) {
    return change(bind->number, bind->members, true);
  }
  if (const auto* back = std::get_if<binder::GiveBack>(&request)) {
    return change(back->number, back->members, false);
  }
  if (const auto* probe = std::get_if<binder::Probe>(&request)) {
    ++play_.probes;
    if (play_.probesStall) return;
    return send(binder::Probed{probe->number, play_.probe.found, play_.probe.error});
  }
  if (const auto* asked = std::get_if<binder::ReadSerial>(&request)) {
    ++play_.serials;
    binder::SerialTold told = play_.serial;
    told.number = asked->number;
    return send(told);
  }
  KJ_REQUIRE(awaitsSeen_, "seen what was not told");
  awaitsSeen_ = false;
  tellNews();
}

void PlayedBinder::change(std::uint32_t number, const std::vector<Bdf>& members, bool bind) {
  ++(bind ? play_.binds : play_.returns);
  IommuGroup* group = groupOf(play_, members);
  if (group == nullptr) {
    return send(binder::Answer{number, binder::Answer::Outcome::kVanished, ""});
  }
  KJ_REQUIRE(!group->binding.busy, "asked for two changes of one group at a time");
  KJ_REQUIRE(++play_.changing <= binder::kMostInFlight, "asked for more than eight changes");
  group->binding.busy = true;
  tellNews();
  changes_.add(untilNoWait().then([this, number, id = group->id, bind]() {
    --play_.changing;
    end(number, id, bind);
  }));
}

void PlayedBinder::end(std::uint32_t number, IommuGroupId id, bool bind) {
  const auto found = play_.hardware.groups.find(id);
  if (found == play_.hardware.groups.end()) {
    answers_.push_back({number, binder::Answer::Outcome::kVanished, ""});
    return tellNews();
  }
  IommuGroup& group = found->second;
  group.binding.busy = false;
  group.binding.stuck = play_.binding == FakePrivd::Binding::kStuck;
  if (play_.binding == FakePrivd::Binding::kSucceeds) {
    if (bind) {
      bindMembers(play_, group);
    } else {
      giveMembersBack(play_, group);
    }
    group.binding.bindable = !bind;
    group.binding.boundForAllocation = bind;
    group.groupNode = bind;
  }
  // The hardware after the answer, as it may come: whoever trusts the answer alone sees what was
  // before.
  ++play_.generation;
  play_.deltaDue = true;
  answers_.push_back(answerOf(number, play_.binding));
  tellNews();
}

kj::Promise<void> PlayedBinder::untilNoWait() {
  if (play_.binding != FakePrivd::Binding::kWaits) return kj::READY_NOW;
  auto waiting = kj::newPromiseAndFulfiller<void>();
  play_.waiting.push_back(kj::mv(waiting.fulfiller));
  return waiting.promise.then([this]() { return untilNoWait(); });
}

void PlayedBinder::tellNews() {
  if (awaitsSeen_) return;
  auto groups = news();
  if (!groups.empty() || first_) {
    first_ = false;
    awaitsSeen_ = true;
    send(binder::Changed{.mayBind = play_.setup.mayBind,
                         .sysfsWriting = play_.hardware.sysfsWriting,
                         .more = false,
                         .groups = std::move(groups)});
  }
  for (const binder::Answer& answer : std::exchange(answers_, {})) send(answer);
}

std::vector<binder::GroupState> PlayedBinder::news() {
  std::vector<binder::GroupState> news;
  for (const auto& [id, group] : play_.hardware.groups) {
    binder::GroupState state = stateOf(group);
    const auto told = told_.find(id);
    const bool known = told != told_.end();
    if (known ? told->second == state : state.binding == GroupBinding{}) continue;
    told_.insert_or_assign(id, state);
    news.push_back(std::move(state));
  }
  return news;
}

void PlayedBinder::send(const binder::FromBinder& message) {
  sendPacket(channel_, encode(message));
}

void PlayedBinder::taskFailed(kj::Exception&& exception) {
  KJ_LOG(FATAL, "the played binder", exception);
}

}  // namespace vfiogate::test
