#include "sim/kubelet/dra/dra_times.h"

namespace vfiogate::sim {

DraTimes DraTimes::scaled(double factor) const {
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
