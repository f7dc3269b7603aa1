#pragma once
// Every waiting time of the ledger (ledger.md 4), each with its reason.

#include <chrono>
#include <cstddef>

namespace vfiogate::timing {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

/// An Allocate stalls the kubelet's main loop (kubelet-contract.md T14). From the call's arrival;
/// deadlines never add up, the largest one that applies counts.
inline constexpr seconds kAllocateDeadline{2};
/// Where a bind is needed, instead of the former. What needs longer belongs into `--declare`.
inline constexpr seconds kBindDeadline{5};
/// The kubelet waits 45 s for Prepare, and reading the claim from the API server is a part of that.
/// Longer than a plugind without a record needs to adopt.
inline constexpr seconds kPrepareDeadline{40};
/// While privd is away or a bind runs: the kubelet waits 30 s for PreStartContainer.
inline constexpr seconds kPreStartDeadline{20};

/// Between reconciles outside calls: each costs two fsyncs in the kubelet.
inline constexpr seconds kReconcileInterval{5};
/// Two readings of use, or two checkpoint versions: writers in the kubelet overtake each other.
inline constexpr seconds kReadingGap{1};
/// An answer that nobody named this long is worth a reconcile.
inline constexpr seconds kNamingReconcile{5};
/// List never shows plain init containers: their holders are looked for this often.
inline constexpr seconds kUnlistedReconcile{60};
/// List writes nothing, and a pod that never opened its device ends without another sign.
inline constexpr seconds kListInterval{10};
/// While a pod's name is sought, which the kubelet lists a moment after it admitted the pod; and
/// for how long. Whoever looks at a pod that has just become Ready sees whose device it is.
inline constexpr milliseconds kNameInterval{250};
inline constexpr seconds kNameSought{15};
/// privd is asked again this often about a device that is let go and not yet seen idle.
inline constexpr seconds kUseInterval{5};

/// After a PreStart that no opening followed: the VM may be about to open the device.
inline constexpr seconds kSettling{10};
/// An answer may wait in the kubelet this long before it is recorded.
inline constexpr seconds kNeverNamed{30};
/// The same for what the plugind before us answered: one begun this long after the first frame.
inline constexpr seconds kAdoptionWait{30};
/// A release that hardware can neither confirm nor deny is believed after this.
inline constexpr seconds kUnconfirmed{60};
/// From the epoch's start: a starting kubelet lists pods one by one.
inline constexpr seconds kListSettles{60};
/// Between two Lists that lack a forgotten holder's pod: a pod that is taken from the kubelet
/// leaves its list at once, and its containers may take this long to end.
inline constexpr seconds kLetGoGap{30};
/// A forgotten holder whose pod's name was never known.
inline constexpr minutes kNamelessLetGo{10};
/// Between two answers of the API server that a claim is gone.
inline constexpr seconds kClaimGap{60};

/// What lost its reason to be in a frame stays this long: the kubelet may be allocating it (T5).
inline constexpr seconds kFrameStay{60};
/// A device that became good or bad more often than this within the window flaps: each change costs
/// the kubelet a frame and two fsyncs, and a pod would lose it again.
inline constexpr std::size_t kMostFlips{10};
inline constexpr seconds kFlapWindow{60};

/// What left a frame comes back no sooner, so that a late reply does not meet a list without it.
inline constexpr seconds kFrameReturn{10};

}  // namespace vfiogate::timing
