#pragma once
// How many orders to change bindings a peer may give.

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>

namespace vfiogate {

/// Of a peer, which is a uid: 10 in any minute for one group, 120 in all. An order counts once,
/// whatever it writes. Holds at most 120 times for each uid that privd serves, which are few.
class WriteLimits {
public:
  using Time = std::chrono::steady_clock::time_point;

  /// True: it may, and is counted; false: it is not, so who is refused only waits. `now` never goes
  /// back.
  bool admit(std::uint32_t uid, std::uint32_t group, Time now);

private:
  struct Order {
    std::uint32_t group;
    Time at;
  };
  std::map<std::uint32_t, std::deque<Order>> orders_;
};

}  // namespace vfiogate
