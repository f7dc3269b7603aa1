#include "plugind/hardware_view.h"

#include <utility>

namespace vfiogate {

Result<HardwareView::Taken, DecodeError> HardwareView::take(schema::Update::Reader update) {
  switch (update.which()) {
    case schema::Update::FULL:
      return takeWhole(update);
    case schema::Update::DELTA:
      return takeDelta(update);
  }
  return Failure{DecodeError{"an update that is neither full nor delta"}};
}

Result<HardwareView::Taken, DecodeError> HardwareView::takeWhole(schema::Update::Reader update) {
  auto decoded = decodeSnapshot(update.getFull());
  if (!decoded) return Failure{decoded.error()};
  DecodedSnapshot whole = std::move(decoded).value();
  snapshot_ = std::move(whole.snapshot);
  controls_ = std::move(whole.controls);
  at_ = {update.getEpoch(), update.getGeneration()};
  return Taken::kNew;
}

Result<HardwareView::Taken, DecodeError> HardwareView::takeDelta(schema::Update::Reader update) {
  auto decoded = decodeDelta(update.getDelta());
  if (!decoded) return Failure{decoded.error()};
  DecodedDelta delta = std::move(decoded).value();
  if (!at_ || at_->epoch != update.getEpoch() || at_->generation != delta.base) {
    at_.reset();
    return Taken::kMissing;
  }
  for (const IommuGroup& group : delta.delta.changedGroups) controls_.erase(group.id);
  for (const IommuGroupId id : delta.delta.removedGroups) controls_.erase(id);
  controls_.merge(delta.controls);
  snapshot_ = apply(std::move(snapshot_), delta.delta);
  at_->generation = update.getGeneration();
  return Taken::kNew;
}

kj::Maybe<schema::GroupControl::Client> HardwareView::control(IommuGroupId group) {
  const auto found = controls_.find(group);
  if (found == controls_.end()) return nullptr;
  return found->second;
}

}  // namespace vfiogate
