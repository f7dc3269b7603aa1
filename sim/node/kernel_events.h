#pragma once
// What the kernel says about hardware while it changes.

#include <kj/io.h>
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace vfiogate::sim {

struct KernelEvent {
  std::chrono::steady_clock::time_point heard;
  std::string action;                         ///< "add", "bind", ...
  std::string path;                           ///< of the device, below /sys
  std::map<std::string, std::string> fields;  ///< "DRIVER" to "vfio-pci", ...

  bool is(const std::string& what, const std::string& address) const {
    return action == what && path.ends_with("/" + address);
  }
};

/// Keeps all events since it was made.
class KernelEvents {
public:
  KernelEvents();

  /// The first event after those before `from` that `fits`, within `patience`.
  std::optional<KernelEvent> await(std::size_t from,
                                   const std::function<bool(const KernelEvent&)>& fits,
                                   std::chrono::milliseconds patience);

  /// How many have come; delivery is synchronous, nothing is on its way.
  std::size_t count();

  /// Those from `from` on that are about the address or what lies below it, as "bind", "remove".
  std::string about(std::size_t from, const std::string& address);

private:
  /// False: none within `patience`.
  bool take(std::chrono::milliseconds patience);

  kj::AutoCloseFd socket_;
  std::vector<KernelEvent> heard_;
};

/// Sends an event to the port of another process, as root may. Why not; empty: sent.
std::string forgeEvent(pid_t port);

}  // namespace vfiogate::sim
