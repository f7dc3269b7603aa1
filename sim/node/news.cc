#include "sim/node/news.h"

#include "sim/node/node.h"

#include <thread>

namespace vfiogate::sim {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

std::string milliseconds(Clock::duration time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(time).count()) +
         " ms";
}

Wanted exactly(const std::string& resource, const std::set<std::string>& healthy,
               const std::set<std::string>& unhealthy) {
  return {resource, [healthy, unhealthy](const DeviceTable& devices) {
            return devices.healthy() == healthy && devices.unhealthy() == unhealthy;
          }};
}

Seen awaitNews(Node& node, bool broken, const std::function<Act()>& act, const Wanted& wanted) {
  const Act acted = broken ? Act{} : act();
  if (!acted.problem.empty()) return {false, acted.problem};
  const bool seen =
      node.kubelet().await(wanted.resource, wanted.holds, broken ? kUneventful : kNewsWithin);
  const Clock::time_point now = Clock::now();
  return {seen, "frame " + milliseconds(now - acted.began) + " after the write began, which took " +
                    milliseconds(acted.ended - acted.began) + ": " + wanted.resource + " " +
                    frameText(node.kubelet().devices(wanted.resource))};
}

bool becomes(const std::function<bool()>& holds, std::chrono::milliseconds patience) {
  constexpr std::chrono::milliseconds kPollInterval{10};
  const Clock::time_point deadline = Clock::now() + patience;
  while (!holds()) {
    if (Clock::now() > deadline) return false;
    std::this_thread::sleep_for(kPollInterval);
  }
  return true;
}

}  // namespace vfiogate::sim
