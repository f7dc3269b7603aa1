#include "plugind/privd/allocation_client.h"

#include <utility>

namespace vfiogate {
namespace {

/// Where a command has the group's lock, as it has while it looks at it, this waits a little.
constexpr auto kPause = 10 * kj::MILLISECONDS;
constexpr unsigned kTries = 11;

}  // namespace

kj::Promise<Told> AllocationClient::allocate(IommuGroupId group, std::vector<UnitId> members,
                                             std::string note) {
  const auto turn = ++lastTurn_;
  allocated_.insert_or_assign(group, Allocated{.turn = turn, .members = members});
  auto settled = record(group, turn, {std::move(members), std::move(note)}, kTries).fork();
  auto told = settled.addBranch().then([]() { return Told::kDone; });
  allocated_.at(group).settled = kj::mv(settled);
  return told;
}

kj::Promise<void> AllocationClient::record(IommuGroupId group, std::uint64_t turn,
                                           const gate::Allocate& request, unsigned tries) {
  return gate_.ask(request).then(
      [this, group, turn, request, tries](const GateReply& reply) -> kj::Promise<void> {
        const auto told = allocated_.find(group);
        // It may be released by now, or told anew.
        if (told == allocated_.end() || told->second.turn != turn) return kj::READY_NOW;
        told->second.onFile = reply.answer.code == gate::Code::kDone;
        if (reply.answer.code != gate::Code::kBusy || tries == 1) return kj::READY_NOW;
        return timer_.afterDelay(kPause).then(
            [this, group, turn, request, tries]() -> kj::Promise<void> {
              const auto still = allocated_.find(group);
              if (still == allocated_.end() || still->second.turn != turn) return kj::READY_NOW;
              return record(group, turn, request, tries - 1);
            });
      });
}

kj::Promise<Told> AllocationClient::release(IommuGroupId group, std::vector<UnitId> members) {
  auto allocated = allocated_.extract(group);
  if (!allocated.empty()) members = std::move(allocated.mapped().members);
  if (members.empty()) return Told::kFailed;
  return gate_.ask(gate::Release{std::move(members)}).then([](const GateReply&) {
    return Told::kDone;
  });
}

kj::Promise<Told> AllocationClient::adopted() {
  return gate_.ask(gate::Adopted{}).then([](const GateReply&) { return Told::kDone; });
}

kj::Promise<bool> AllocationClient::onFile(IommuGroupId group) {
  const auto told = allocated_.find(group);
  if (told == allocated_.end()) return false;
  return told->second.settled.addBranch().then(
      [this, group, turn = told->second.turn]() -> kj::Promise<bool> {
        const auto now = allocated_.find(group);
        if (now == allocated_.end()) return false;
        return now->second.turn == turn ? now->second.onFile : onFile(group);
      });
}

}  // namespace vfiogate
