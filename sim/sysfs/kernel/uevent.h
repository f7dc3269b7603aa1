#pragma once
// One kernel event, as it travels over NETLINK_KOBJECT_UEVENT.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vfiogate::sim {

/// What the kernel says about one object. The key SEQNUM is the real kernel's to add.
struct Uevent {
  std::string action;   ///< add, remove, bind, unbind, change
  std::string devpath;  ///< below /sys, with its leading '/'
  std::string subsystem;
  std::vector<std::pair<std::string, std::string>>
      keys;  ///< after SUBSYSTEM, in the kernel's order

  /// The value of `key`; empty if it is not there.
  std::string_view value(std::string_view key) const;

  /// The datagram: "ACTION@DEVPATH" and the keys, each ended by a zero byte.
  std::string datagram() const;

  /// For people and tests, such as "bind 0000:01:00.0" or "add vfio/12".
  std::string brief() const;

  friend bool operator==(const Uevent&, const Uevent&) = default;
};

}  // namespace vfiogate::sim
