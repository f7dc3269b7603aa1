#include "plugind/privd/binding_view.h"

#include "ipc/types/units.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace vfiogate {
namespace {

/// Of one node: the functions of one PCI segment.
constexpr std::size_t kMostToldOf = 65'536;

}  // namespace

BindingView::Taken BindingView::take(binder::Changed changed) {
  if (parts_.size() + changed.groups.size() > kMostToldOf) return Taken::kTooMuch;
  std::ranges::move(changed.groups, std::back_inserter(parts_));
  if (changed.more) return Taken::kPart;
  right_ = changed.mayBind ? RightToBind::kGiven : RightToBind::kNotGiven;
  writing_ = changed.sysfsWriting;
  for (binder::GroupState& told : std::exchange(parts_, {})) {
    const IommuGroupId id = told.id;
    if (told.binding == GroupBinding{}) {
      groups_.erase(id);
    } else {
      groups_.insert_or_assign(id, std::move(told));
    }
  }
  return groups_.size() > kMostToldOf ? Taken::kTooMuch : Taken::kWhole;
}

void BindingView::binderWent() {
  right_ = RightToBind::kBinderAway;
  writing_ = SysfsWriting::kUnknown;
  groups_.clear();
  parts_.clear();
}

void BindingView::complete(Snapshot& hardware) const {
  hardware.sysfsWriting = writing_;
  for (auto& [id, group] : hardware.groups) group.binding = bindingOf(group);
}

void BindingView::changeBegins(IommuGroupId group) {
  Changing& changing = changing_[group];
  if (changing.changes++ > 0) return;
  const auto told = groups_.find(group);
  if (told == groups_.end()) return;
  changing.wasBoundForAllocation = told->second.binding.boundForAllocation;
  changing.wasStuck = told->second.binding.stuck;
}

void BindingView::changeEnded(IommuGroupId group) {
  const auto changing = changing_.find(group);
  if (changing != changing_.end() && --changing->second.changes == 0) changing_.erase(changing);
}

GroupBinding BindingView::bindingOf(const IommuGroup& group) const {
  GroupBinding binding = toldOf(group);
  binding.excluded =
      !excluded_.empty() && std::ranges::any_of(unitsOf(group), [this](const UnitId& unit) {
        return excluded_.contains(unit);
      });
  return binding;
}

GroupBinding BindingView::toldOf(const IommuGroup& group) const {
  if (const auto changing = changing_.find(group.id); changing != changing_.end()) {
    return {.busy = true,
            .boundForAllocation = changing->second.wasBoundForAllocation,
            .stuck = changing->second.wasStuck};
  }
  const auto told = groups_.find(group.id);
  const bool same = told != groups_.end() && told->second.members == group.members;
  return same ? told->second.binding : GroupBinding{};
}

}  // namespace vfiogate
