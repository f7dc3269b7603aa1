#pragma once
// Asks privd's gate which devices an operator has excluded from allocation.

#include "ipc/types/unit_id.h"
#include "plugind/privd/gate_channel.h"
#include "plugind/privd/session_calls.h"

#include <kj/async.h>

#include <set>
#include <string>

namespace vfiogate {

/// For one connection of privd's. The loop's thread only.
class ExclusionClient {
public:
  /// Borrows both.
  ExclusionClient(ChannelToGate& gate, SessionCalls& calls) : gate_(gate), calls_(calls) {}

  /// All of them. Fails where the connection does; ends it where privd does not tell: what is
  /// excluded must not be offered.
  kj::Promise<std::set<UnitId>> read() { return readOn({}); }

private:
  kj::Promise<std::set<UnitId>> readOn(std::set<UnitId> devices);
  kj::Promise<std::set<UnitId>> hangUp(const std::string& why);

  ChannelToGate& gate_;
  SessionCalls& calls_;
};

}  // namespace vfiogate
