#pragma once
// How long the kubelet waits for DRA drivers, and how often it polls (kubelet-contract.md 0).

#include <chrono>

namespace vfiogate::sim {

struct DraTimes {
  using Time = std::chrono::milliseconds;
  Time call{45'000};  ///< NodePrepareResources and NodeUnprepareResources, each
  /// Until a pod whose claims could not be prepared is tried again: at random between the two.
  Time prepareAgain{60'000};
  Time prepareAgainAtMost{90'000};
  /// Until a pod that could not start its containers, or not unprepare its claims, is tried again.
  Time syncAgain{10'000};
  Time syncAgainAtMost{15'000};
  Time reconcile{60'000};    ///< between two looks for claims of pods that are gone
  Time wipeAfter{30'000};    ///< of a driver's slices, once none of its instances is connected
  Time wipeAgain{1'000};     ///< doubles with each failure of the API server, ten tries in all
  Time watchAgain{5'000};    ///< NodeWatchResources, after its end
  Time healthSecond{1'000};  ///< one of a driver's seconds
  Time stale{30'000};        ///< a device's health, where the driver names no timeout
  Time reconnect{1'000};     ///< first pause of a lost connection
  Time reconnectAtMost{120'000};

  /// All of them times `factor`.
  DraTimes scaled(double factor) const;
};

}  // namespace vfiogate::sim
