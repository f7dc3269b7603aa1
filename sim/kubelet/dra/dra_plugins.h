#pragma once
// The DRA drivers of the node: which instances are registered, which are connected, and what
// becomes of their slices (kubelet-contract.md 4, 5.5).

#include "sim/kubelet/dra/claim_source.h"
#include "sim/kubelet/dra/dra_options.h"
#include "sim/kubelet/dra/errands.h"

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace v1alpha1 {
class NodeWatchResourcesResponse;
}

namespace vfiogate::sim {

class DraConnection;

/// One registered instance of a driver.
struct DraInstance {
  std::string endpoint;
  std::string version;
  bool connected = false;

  friend bool operator==(const DraInstance&, const DraInstance&) = default;
};

/// Every method may be called from any thread.
class DraPlugins {
public:
  /// Not told under a lock of ours; from several threads.
  struct Listener {
    std::function<void(const std::string& driver, const v1alpha1::NodeWatchResourcesResponse&)>
        health;
    std::function<void(const std::string& driver)> healthEnded;
    std::function<void(const std::string&)> told;  ///< in words
  };

  /// `errands` must outlive this. Without a wiper nothing is wiped.
  DraPlugins(const DraTimes& times, Errands& errands, std::shared_ptr<SliceWiper> wiper,
             Listener listener);
  ~DraPlugins();
  DraPlugins(const DraPlugins&) = delete;
  DraPlugins& operator=(const DraPlugins&) = delete;

  /// Takes the slices of the whole node away, now and until it has worked.
  void wipeNode();
  /// Connects to it without waiting for that. What is wrong with it, or empty.
  std::string add(const std::string& driver, const std::string& endpoint,
                  const std::string& version);
  void remove(const std::string& driver, const std::string& endpoint);
  /// The newest that is connected, else the newest; null: the driver is not registered.
  std::shared_ptr<DraConnection> pick(const std::string& driver) const;
  /// The oldest first.
  std::vector<DraInstance> instances(const std::string& driver) const;
  /// True as soon as `holds` does for the driver's instances.
  bool await(const std::string& driver,
             const std::function<bool(const std::vector<DraInstance>&)>& holds,
             std::chrono::milliseconds patience);
  /// Cancels all calls; nothing is told and nothing wiped any more.
  void close();

private:
  struct Instance {
    DraInstance seen;
    std::uint64_t number = 0;
    std::shared_ptr<DraConnection> connection;
  };
  struct Driver {
    std::list<Instance> instances;
    Errands::Id wipe = 0;        ///< the next try, 0: none
    std::uint64_t wipeTurn = 0;  ///< a try of an earlier turn does nothing
    bool wiping = false;         ///< in this turn, or done with it
  };

  void connected(const std::string& driver, std::uint64_t number, bool connected);
  void healthEnded(const std::string& driver);
  /// Begins or ends the driver's time without a connection. The caller holds the lock.
  void judge(const std::string& name, Driver& driver);
  void wipe(const std::string& driver, std::uint64_t turn, int tries);
  void wipeNodeAgain(int tries);
  std::vector<DraInstance> seen(const std::string& driver) const;
  std::optional<std::chrono::milliseconds> pauseAfter(int tries) const;

  const DraTimes times_;
  Errands& errands_;
  const std::shared_ptr<SliceWiper> wiper_;
  const Listener listener_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool closed_ = false;
  std::uint64_t last_ = 0;
  std::map<std::string, Driver> drivers_;
};

}  // namespace vfiogate::sim
