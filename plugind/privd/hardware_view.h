#pragma once
// The hardware as privd tells it: the whole first, then differences.

#include "ipc/codec/snapshot_codec.h"

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

  Taken take(DecodedUpdate update);

  const Snapshot& snapshot() const { return snapshot_; }
  /// True if the generation, of the privd that this comes from, is in it.
  bool shows(std::uint64_t generation) const { return at_ && at_->generation >= generation; }

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
