#include "privd/binder/told_groups.h"

#include <vector>

namespace vfiogate {
namespace {

/// Of the fields before the groups.
constexpr std::size_t kHead = 16;

binder::GroupState stateOf(const IommuGroup& group) {
  binder::GroupState state{.id = group.id, .members = group.members, .binding = group.binding};
  state.binding.excluded = false;
  // One that plugind would not take is not told at all.
  const bool fits = !group.members.empty() && group.members.size() <= binder::kMostMembers;
  if (!fits) state.binding = {};
  return state;
}

bool isPlain(const binder::GroupState& state) {
  return state.binding == GroupBinding{};
}

/// All that differs, the changes of groups that are gone first.
std::vector<binder::GroupState> differences(const std::map<IommuGroupId, binder::GroupState>& told,
                                            const Snapshot& now) {
  std::vector<binder::GroupState> found;
  for (const auto& [id, state] : told) {
    const auto group = now.groups.find(id);
    if (group == now.groups.end() || isPlain(stateOf(group->second))) {
      found.push_back({.id = id, .members = state.members, .binding = {}});
    }
  }
  for (const auto& [id, group] : now.groups) {
    binder::GroupState state = stateOf(group);
    const auto known = told.find(id);
    const bool isNews = !isPlain(state) && (known == told.end() || known->second != state);
    if (isNews) found.push_back(std::move(state));
  }
  return found;
}

}  // namespace

std::optional<binder::Changed> ToldGroups::news(const Snapshot& now, bool mayBind) {
  const std::pair head{mayBind, now.sysfsWriting};
  std::vector<binder::GroupState> groups = differences(told_, now);
  if (groups.empty() && head_ == head) return std::nullopt;
  head_ = head;
  binder::Changed changed{
      .mayBind = mayBind, .sysfsWriting = now.sysfsWriting, .more = false, .groups = {}};
  std::size_t size = kHead;
  for (binder::GroupState& state : groups) {
    size += sizeOf(state);
    changed.more = size > binder::kLargestMessage || changed.groups.size() == binder::kMostMembers;
    if (changed.more) break;
    if (isPlain(state)) {
      told_.erase(state.id);
    } else {
      told_.insert_or_assign(state.id, state);
    }
    changed.groups.push_back(std::move(state));
  }
  return changed;
}

}  // namespace vfiogate
