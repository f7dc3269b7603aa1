#include "plugind/hardware_view.h"

#include <utility>

namespace vfiogate {

Result<HardwareView::Taken, DecodeError> HardwareView::take(schema::Update::Reader update) {
  auto decoded = decode(update);
  if (!decoded) return Failure{decoded.error()};
  DecodedUpdate taken = std::move(decoded).value();
  if (auto* whole = std::get_if<Snapshot>(&taken.update.content)) {
    snapshot_ = std::move(*whole);
    controls_ = std::move(taken.controls);
  } else {
    const auto& delta = std::get<UpdateDelta>(taken.update.content);
    if (!at_ || at_->epoch != taken.update.epoch || at_->generation != delta.base) {
      at_.reset();
      return Taken::kMissing;
    }
    for (const IommuGroup& group : delta.changes.changedGroups) controls_.erase(group.id);
    for (const IommuGroupId id : delta.changes.removedGroups) controls_.erase(id);
    controls_.merge(taken.controls);
    snapshot_ = apply(std::move(snapshot_), delta.changes);
  }
  at_ = {taken.update.epoch, taken.update.generation};
  return Taken::kNew;
}

kj::Maybe<schema::GroupControl::Client> HardwareView::control(IommuGroupId group) {
  const auto found = controls_.find(group);
  if (found == controls_.end()) return nullptr;
  return found->second;
}

}  // namespace vfiogate
