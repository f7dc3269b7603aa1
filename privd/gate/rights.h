#pragma once
// What a connection may ask of privd, decided once when it is made.

#include <sys/types.h>

#include <optional>
#include <string>

namespace vfiogate {

struct Rights {
  bool watch = false;    ///< see the hardware
  bool kubelet = false;  ///< allocate it: the kubelet's sockets, and a capability for each group
  bool cdi = false;      ///< have static CDI specs written
  bool bind = false;     ///< have groups bound for an allocation, and given back

  friend bool operator==(const Rights&, const Rights&) = default;
};

/// Of --plugind-rights, whose words are checked: those that are there, with commas between.
inline Rights rightsIn(const std::string& words) {
  const std::string all = "," + words + ",";
  const auto has = [&all](const char* word) { return all.find(word) != std::string::npos; };
  return {.watch = has(",watch,"),
          .kubelet = has(",kubelet,"),
          .cdi = has(",cdi,"),
          .bind = has(",bind,")};
}

/// Who is served, and with which rights.
struct RolePolicy {
  uid_t plugindUid;  ///< never 0
  Rights plugindRights;
};

/// The rights of who listens on the socket that was dialled, and is `uid` by the kernel's word;
/// null: it is hung up on. Root has none: that a process of root's answers on plugind's path does
/// not make it plugind.
inline std::optional<Rights> rightsOf(const RolePolicy& policy, uid_t uid) {
  if (uid == 0 || uid != policy.plugindUid) return std::nullopt;
  return policy.plugindRights;
}

}  // namespace vfiogate
