#pragma once
// The hardware as privd's hardware process tells it: the whole first, then differences.

#include "ipc/codec/snapshot_codec.h"
#include "plugind/privd/binding_view.h"

#include <cstdint>
#include <optional>

namespace vfiogate {

/// Folds one subscription's updates.
class HardwareView {
public:
  enum class Taken : std::uint8_t {
    kNew,      ///< snapshot() says something new
    kMissing,  ///< does not follow what was taken last: ask for the whole
  };

  /// The bindings of what it changes are as untold then.
  Taken take(DecodedUpdate update);
  /// Completes the snapshot with what binder and gate tell.
  void complete(const BindingView& bindings) { bindings.complete(snapshot_); }

  const Snapshot& snapshot() const { return snapshot_; }
  /// True if the devices, and the members of the groups, are as `seen` has them.
  bool shows(const Snapshot& seen) const;

  /// Null: no such group, or it came without its capability.
  kj::Maybe<schema::GroupControl::Client> control(IommuGroupId group);

private:
  /// What the next difference must name to be ours.
  struct Position {
    std::uint64_t epoch;
    std::uint64_t generation;
  };

  std::optional<Position> at_;
  Snapshot snapshot_;
  GroupControlClients controls_;
};

}  // namespace vfiogate
