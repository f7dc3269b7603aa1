#pragma once
// What is true of a node's devices, kept by the test alone: what the kubelet granted, and what is
// open. Nothing here comes from privd or plugind.

#include "sim/kubelet/kubelet_sim.h"

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace vfiogate::test {

class FaultBooks {
public:
  struct Device {
    std::string resource;
    unsigned group = 0;
  };
  struct Pod {
    std::string resource;
    std::set<std::string> ids;
    bool started = false;  ///< and its devices are open
    bool deleted = false;  ///< by force: the kubelet gives its devices away, they are open still
  };

  explicit FaultBooks(std::map<std::string, Device> devices) : devices_(std::move(devices)) {}

  /// The kubelet recorded it.
  void granted(const std::string& uid, const std::string& resource,
               const std::set<std::string>& ids);
  void started(const std::string& uid) { pods_.at(uid).started = true; }
  /// Of a started pod. It is a party until it ends.
  void forceDeleted(const std::string& uid) { pods_.at(uid).deleted = true; }
  /// The pod has ended and closed its devices.
  void ended(const std::string& uid);
  /// An Allocate of this device came to nothing that the kubelet knows of.
  void disturbed(const std::string& id);

  /// Empty, or what does not balance: "I1: ..." if a group has two parties; "I4: ..." if a held
  /// device is not shown Healthy; "I5: ..." if the Healthy ones without the held ones are not those
  /// that can be allocated. Waits for `patience` until they are.
  std::string imbalance(sim::KubeletSim& kubelet, std::chrono::milliseconds patience);

  const std::map<std::string, Pod>& pods() const { return pods_; }
  const std::map<std::string, Device>& devices() const { return devices_; }
  /// Groups that nobody has and whose release is not under way.
  std::set<unsigned> allocatable() const;
  /// The devices by which groups were held whose holder has gone and that are not seen free again.
  /// The kubelet may give them to the next pod all the same.
  std::set<std::string> leaving() const;
  /// A new kubelet came: what it never knew is let go only after minutes (ledger.md 4).
  void kubeletRestarted();

private:
  using Clock = std::chrono::steady_clock;

  std::set<unsigned> groupsOf(const Pod& pod) const;
  std::string doubleParties() const;
  std::string resourceImbalance(const std::string& resource, const sim::DeviceTable& shown) const;
  void noteReturned(sim::KubeletSim& kubelet);

  const std::map<std::string, Device> devices_;  ///< by id
  std::map<std::string, Pod> pods_;              ///< by uid
  struct Leaving {
    std::string id;
    std::optional<Clock::time_point> since;  ///< null: it may last
  };

  std::map<unsigned, Leaving> leaving_;
};

}  // namespace vfiogate::test
