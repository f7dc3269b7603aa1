#include "plugind/loop/allocated_groups.h"

#include <utility>

namespace vfiogate {

void AllocatedGroups::set(const GroupNotes& groups) {
  const auto before = std::exchange(told_, groups);
  // Those that left first: privd keeps allocations by address, and a device may have moved between
  // groups.
  for (const auto& [group, note] : before) {
    if (!groups.contains(group)) tell(privd_.release(group));
  }
  for (const auto& [group, note] : groups) {
    const auto known = before.find(group);
    if (known == before.end() || known->second != note) tell(privd_.allocate(group, note));
  }
  if (adopted_) tellAdopted();
}

void AllocatedGroups::add(IommuGroupId group, const std::string& note) {
  if (told_.insert_or_assign(group, note).second) tell(privd_.allocate(group, note));
}

void AllocatedGroups::adopted() {
  adopted_ = true;
  tellAdopted();
}

void AllocatedGroups::privdWent() {
  told_.clear();
  adoptedTold_ = false;
  ++ends_;  // not the end of telling_: it is what may be telling us
}

void AllocatedGroups::tellAdopted() {
  if (std::exchange(adoptedTold_, true)) return;
  telling_ = telling_
                 .then([this, ends = ends_]() {
                   return ends == ends_ ? privd_.adopted() : kj::Promise<Told>(Told::kPrivdAway);
                 })
                 .ignoreResult()
                 .eagerlyEvaluate(nullptr);
}

void AllocatedGroups::tell(kj::Promise<Told> telling) {
  // A group that left meanwhile needs no hold, and privd's end is told otherwise.
  auto told = telling.ignoreResult().eagerlyEvaluate(nullptr);
  telling_ = telling_.then([told = kj::mv(told)]() mutable { return kj::mv(told); })
                 .eagerlyEvaluate(nullptr);
}

}  // namespace vfiogate
