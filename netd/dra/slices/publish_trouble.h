#pragma once
// What a publisher makes of an answer that is not the one it hoped for. Pure.

#include "netd/dra/api/api_retry.h"

#include <kj/time.h>

#include <cstdint>
#include <string>

namespace vfiogate {

struct PublishTrouble {
  enum class Then : std::uint8_t {
    kSame,      ///< the same step again: it changed nothing
    kAnew,      ///< from the start: what stands there is not known any more
    kConflict,  ///< the same, at once for the first time: somebody was faster
  };
  std::string why;
  Then then = Then::kAnew;
  kj::Duration asked = 0 * kj::SECONDS;  ///< by the server: not before
};

/// `act`: what could not be done, for people.
PublishTrouble troubleOf(const char* act, const ApiOutcome& outcome);

/// Whether a slice was refused for what its devices consume. Before Kubernetes 1.35, where the gate
/// was turned on, counters had to be in the slice of the devices.
bool refusesCounters(const ApiOutcome& outcome);

}  // namespace vfiogate
