#include "netd/dra/slices/publish_pacing.h"

#include "netd/dra/api/api_retry.h"

namespace vfiogate {

kj::Duration startDelay(double unit) {
  return within(0 * kj::SECONDS, kStartSpread, unit);
}

kj::Duration settleTime(unsigned repairs, double unit) {
  return doubled(within(kSettleLeast, kSettleMost, unit), repairs, kSettleCap);
}

kj::Duration publishBackoff(unsigned failures, double unit) {
  return backoffAfter(failures, kPublishBackoff, kMostPublishBackoff, unit);
}

kj::Duration watchTime(double unit) {
  return within(kWatchLeast, kWatchMost, unit);
}

}  // namespace vfiogate
