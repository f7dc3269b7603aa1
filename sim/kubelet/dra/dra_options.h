#pragma once
// How the stand-in kubelet treats DRA.
// How long the kubelet waits for DRA drivers, and how often it polls (kubelet-contract.md 0).

#include "sim/kubelet/dra/claim_source.h"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

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

struct DraOptions {
  DraTimes times = {};
  /// The identifiers that this kubelet knows; an older one knows only the second.
  std::vector<std::string> services = {"v1.DRAPlugin", "v1beta1.DRAPlugin"};
  std::shared_ptr<ClaimSource> claims = {};  ///< null: no claim can be had
  std::shared_ptr<SliceWiper> slices = {};   ///< null: nothing is wiped
  /// What a driver answers to a repeated prepare is added to what it answered before, as in 1.36.2;
  /// later ones replace it (K28).
  bool appendsDevices = true;
  /// The last pod that refers to a claim is taken for the one that ends, whichever it is, as in
  /// 1.36.2 (K27).
  bool lastReferenceIsAnybodys = true;
};

inline DraTimes DraTimes::scaled(double factor) const {
  DraTimes times = *this;
  for (Time* time : {&times.call, &times.prepareAgain, &times.prepareAgainAtMost, &times.syncAgain,
                     &times.syncAgainAtMost, &times.reconcile, &times.wipeAfter, &times.wipeAgain,
                     &times.watchAgain, &times.healthSecond, &times.stale, &times.reconnect,
                     &times.reconnectAtMost}) {
    *time = std::chrono::ceil<Time>(static_cast<double>(time->count()) * factor *
                                    std::chrono::duration<double, std::milli>(1));
  }
  return times;
}

}  // namespace vfiogate::sim
