#pragma once
// What a connection may ask of privd, decided once when it is made.

#include <sys/types.h>
#include <optional>

namespace vfiogate {

struct Rights {
  bool watch = false;    ///< see the hardware
  bool kubelet = false;  ///< allocate it: the kubelet's sockets, and a capability for each group
  bool cdi = false;      ///< have static CDI specs written
  bool bind = false;     ///< have groups bound for an allocation, and given back
  bool operate =
      false;  ///< the operators' control service: change bindings by address. Never plugind's

  friend bool operator==(const Rights&, const Rights&) = default;
};

/// How a connection came to be.
enum class Origin {
  kDialled,   ///< privd dialled plugind's socket; the peer is who listens there
  kAccepted,  ///< somebody connected to --socket
};

/// Which peers are served, and with which rights.
struct RolePolicy {
  uid_t plugindUid;  ///< never 0
  Rights plugindRights;
};

/// The rights of a connection whose other end the kernel says is `uid`; null: it is hung up on.
/// Root has all rights where it connected to us, and none where it only listens: that a process of
/// root's answers on plugind's path does not make it plugind.
inline std::optional<Rights> rightsOf(const RolePolicy& policy, Origin origin, uid_t uid) {
  if (origin == Origin::kAccepted) {
    return uid == 0
               ? std::optional(Rights{
                     .watch = true, .kubelet = true, .cdi = true, .bind = true, .operate = true})
               : std::nullopt;
  }
  if (uid == 0 || uid != policy.plugindUid) return std::nullopt;
  Rights rights = policy.plugindRights;
  rights.operate = false;  // whatever the options say
  return rights;
}

}  // namespace vfiogate
