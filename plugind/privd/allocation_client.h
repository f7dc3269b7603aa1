#pragma once
// Tells privd's gate which groups are allocated, and knows which of them are on file.

#include "plugind/privd/gate_channel.h"
#include "plugind/privd/privd_view.h"

#include <kj/async.h>
#include <kj/timer.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace vfiogate {

/// For one connection of privd's. GroupAllocations says what each word is; here they fail where the
/// connection does. The loop's thread only.
class AllocationClient {
public:
  /// Borrows both.
  AllocationClient(ChannelToGate& gate, kj::Timer& timer) : gate_(gate), timer_(timer) {}

  /// `members`: of the group as it is now. Done when it is on file, or cannot be put there.
  kj::Promise<Told> allocate(IommuGroupId group, std::vector<UnitId> members, std::string note);
  /// `members`: as it is now, for what this connection did not allocate; empty: it is not there.
  kj::Promise<Told> release(IommuGroupId group, std::vector<UnitId> members);
  kj::Promise<Told> adopted();

  /// Whether privd has what it was told last of the group on file, as soon as it is, or cannot be
  /// put there. What is told meanwhile is waited for, too.
  kj::Promise<bool> onFile(IommuGroupId group);

private:
  /// What was told of one group. It outlives the group, so that it can be released.
  struct Allocated {
    std::uint64_t turn;  ///< another one for each word
    std::vector<UnitId> members;
    bool onFile = false;
    kj::ForkedPromise<void> settled = nullptr;
  };

  kj::Promise<void> record(IommuGroupId group, std::uint64_t turn, const gate::Allocate& request,
                           unsigned tries);

  ChannelToGate& gate_;
  kj::Timer& timer_;
  std::uint64_t lastTurn_ = 0;
  std::map<IommuGroupId, Allocated> allocated_;
};

}  // namespace vfiogate
