#include "plugind/loop/held_groups.h"

#include <utility>

namespace vfiogate {

void HeldGroups::hold(const GroupNotes& groups) {
  const auto before = std::exchange(told_, groups);
  // Those that left first: privd holds by address, and a device may have moved between groups.
  for (const auto& [group, note] : before) {
    if (!groups.contains(group)) tell(privd_.drop(group));
  }
  for (const auto& [group, note] : groups) {
    const auto known = before.find(group);
    if (known == before.end() || known->second != note) tell(privd_.hold(group, note));
  }
  if (adopted_) tellAdopted();
}

void HeldGroups::holdAlso(IommuGroupId group, const std::string& note) {
  if (told_.insert_or_assign(group, note).second) tell(privd_.hold(group, note));
}

void HeldGroups::adopted() {
  adopted_ = true;
  tellAdopted();
}

void HeldGroups::privdWent() {
  told_.clear();
  adoptedTold_ = false;
  ++ends_;  // not the end of telling_: it is what may be telling us
}

void HeldGroups::tellAdopted() {
  if (std::exchange(adoptedTold_, true)) return;
  telling_ = telling_
                 .then([this, ends = ends_]() {
                   return ends == ends_ ? privd_.adopted() : kj::Promise<Told>(Told::kPrivdAway);
                 })
                 .ignoreResult()
                 .eagerlyEvaluate(nullptr);
}

void HeldGroups::tell(kj::Promise<Told> telling) {
  // A group that left meanwhile needs no hold, and privd's end is told otherwise.
  auto told = telling.ignoreResult().eagerlyEvaluate(nullptr);
  telling_ = telling_.then([told = kj::mv(told)]() mutable { return kj::mv(told); })
                 .eagerlyEvaluate(nullptr);
}

}  // namespace vfiogate
