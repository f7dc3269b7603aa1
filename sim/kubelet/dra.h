#pragma once
// All of DRA in one life of the stand-in kubelet.

#include "sim/kubelet/dra/claim_keeper.h"
#include "sim/kubelet/dra/dra_health.h"
#include "sim/kubelet/dra/dra_plugins.h"
#include "sim/kubelet/dra/errands.h"
#include "sim/kubelet/kubelet_sim.h"

namespace vfiogate::sim {

/// Its own locks are taken under the kubelet's, never the other way round.
class KubeletSim::Dra {
public:
  /// Reads the files. Throws std::runtime_error if that of the claims is corrupt.
  explicit Dra(KubeletSim& kubelet);
  ~Dra();
  Dra(const Dra&) = delete;
  Dra& operator=(const Dra&) = delete;

  /// Wipes the node's slices once, and looks for claims of pods that are gone from now on.
  void begin();
  /// Ends all calls, and what is done in the background, but for the caller.
  void close();

  ClaimKeeper& claims() { return claims_; }
  DraPlugins& plugins() { return plugins_; }
  DraHealth& health() { return health_; }
  Errands& errands() { return errands_; }
  const DraTimes& times() const { return times_; }
  /// At random between the two.
  std::chrono::milliseconds between(DraTimes::Time least, DraTimes::Time most);

private:
  void reconcile();
  void healthTold(const std::string& driver, const DraConnection::Health& frame);

  KubeletSim& kubelet_;
  const DraTimes times_;
  std::mutex randomMutex_;
  std::mt19937_64 random_;
  DraHealth health_;
  Errands errands_;
  DraPlugins plugins_;
  ClaimKeeper claims_;
};

}  // namespace vfiogate::sim
