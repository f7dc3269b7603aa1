#pragma once
// Refusals, told at most once a second for each who, what and why.
// How many orders to change bindings a peer may give.

#include <chrono>
#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace vfiogate {

/// What refusals have in common that are told together.
struct RefusalKind {
  std::string peer;  ///< such as "uid 64532"; "others": of kinds for which there was no room
  std::optional<std::uint32_t> group;
  std::string reason;
  friend auto operator<=>(const RefusalKind&, const RefusalKind&) = default;
};

/// Counts each. Remembers at most 256 kinds, and of a text 200 bytes.
class RefusalDigest {
public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::size_t kMostKinds = 256;

  struct Told {
    RefusalKind kind;
    std::uint64_t count;  ///< since it was last told
  };

  void count(RefusalKind kind, Time now);

  /// What is to be told now. Ask after each count() and every second.
  std::vector<Told> due(Time now);

private:
  struct Tally {
    std::uint64_t untold = 0;
    std::optional<Time> told;
  };
  void forgetOld(Time now);

  std::map<RefusalKind, Tally> tallies_;
};

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
