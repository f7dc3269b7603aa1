#pragma once
// Snapshots drawn at random, for properties that hold for every snapshot.

#include "ipc/types/snapshot.h"

#include <random>

namespace vfiogate {

/// Draws any snapshot that the hardware process can tell, absurd ones included; the same seed, the
/// same snapshot.
class RandomSnapshots {
public:
  explicit RandomSnapshots(std::uint64_t seed) : random_(seed) {}

  Snapshot draw();
  /// A snapshot that has most of `before`, as a later reread of the same node would.
  Snapshot drawAfter(Snapshot before);

  std::uint64_t upTo(std::uint64_t max);
  bool flip() { return upTo(1) == 1; }

private:
  Bdf address();
  Uuid uuid();
  MediatedDevice mediated();
  std::string text();
  PciDevice device();
  IommuGroup group();

  template <typename T>
  std::optional<T> maybe(std::uint64_t max) {
    if (flip()) return std::nullopt;
    return static_cast<T>(upTo(max));
  }

  std::mt19937_64 random_;
};

}  // namespace vfiogate
