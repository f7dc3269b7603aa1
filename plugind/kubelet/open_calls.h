#pragma once
// The kubelet's calls that the ledger has not answered yet.

#include "plugind/core/ledger/state/effects.h"
#include "plugind/kubelet/kubelet_call.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>

namespace vfiogate {

/// The loop's thread only.
class OpenCalls {
public:
  /// A number that no other call has, for one that is kept elsewhere.
  CallId next() { return CallId(++last_); }

  /// The number under which the ledger knows it.
  CallId open(const std::shared_ptr<AllocateCall>& call);
  CallId open(const std::shared_ptr<StartCall>& call);

  /// The kubelet hung up. Absent: the call is not open.
  std::optional<CallId> forget(const std::shared_ptr<KubeletCall>& call);

  struct Ended {
    bool taken = true;  ///< false: the kubelet had hung up, nobody has what was granted
    std::optional<std::chrono::nanoseconds> allocateTook;  ///< of an Allocate that was answered
  };
  /// Gives the kubelet its answer. Absent: the call is not open.
  std::optional<Ended> answer(const Answer& answer);

private:
  struct Open {
    std::shared_ptr<KubeletCall> call;
    AllocateCall* allocate = nullptr;  ///< the same, if it is one
    StartCall* start = nullptr;
    std::chrono::steady_clock::time_point arrived = std::chrono::steady_clock::now();
  };
  CallId add(Open open);

  std::uint64_t last_ = 0;
  std::map<CallId, Open> open_;
};

}  // namespace vfiogate
