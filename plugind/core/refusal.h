#pragma once
// How a request is refused, in words that may end in the status of somebody else's pod.

#include <string>
#include <vector>

namespace vfiogate {

/// Names device, group, state, since and a reference; never a holder's pod (ledger.md 2).
struct Refusal {
  std::string reason;  ///< the reason code of ledger.md 7, such as "not-viable:host-driver"
  std::string text;    ///< "0000:65:00.0, group 31: lent since 10:42:07Z, group-lent, ref=7f3a"

  friend bool operator==(const Refusal&, const Refusal&) = default;
};

/// Row 1: privd is away, or no snapshot came yet. `ids` as the kubelet sent them.
Refusal refusePrivdAway(const std::vector<std::string>& ids);

/// `text` from outside, for a message: quoted, cut to 64 characters, what is not printable escaped.
std::string quoteForeign(const std::string& text);

}  // namespace vfiogate
