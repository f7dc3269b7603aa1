#pragma once
// The smallest DRA driver: what the stand-in kubelet is tried against.

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace vfiogate::sim {

/// A DRA driver's service on one socket, v1 and v1beta1. All calls may come from any thread.
class TinyDra {
public:
  using Clock = std::chrono::steady_clock;
  struct Device {
    std::vector<std::string> requests = {};
    std::string pool = "pool";
    std::string device = {};
    std::vector<std::string> cdiDevices = {};
    std::optional<std::string> shareId = {};
  };
  struct Reply {
    std::vector<Device> devices = {};
    std::string error = {};
  };
  /// What a whole call is answered; by claim UID. `error` not empty: the call fails UNAVAILABLE.
  struct Answer {
    std::map<std::string, Reply> claims = {};
    std::string error = {};
  };
  /// One call, as it came.
  struct Call {
    bool prepare = false;
    std::string version;             ///< "v1" or "v1beta1"
    std::vector<std::string> uids;   ///< in the call's order
    std::vector<std::string> names;  ///< "namespace/name"
    Clock::time_point came;
    std::chrono::milliseconds within;  ///< its deadline
  };
  struct Health {
    std::string device;
    int health = 1;  ///< HEALTHY
    std::string message = {};
    long timeoutSeconds = 0;
    std::string pool = "pool";
  };

  /// Serves at `socketPath`. With `health` false NodeWatchResources is unimplemented.
  explicit TinyDra(const std::string& socketPath, bool health = true);
  ~TinyDra();
  TinyDra(const TinyDra&) = delete;
  TinyDra& operator=(const TinyDra&) = delete;

  /// Called in each prepare, before the reply, several at a time; without: each claim gets one
  /// device named for its UID, with the CDI name "example.com/vfio=UID". It may wait.
  void onPrepare(std::function<Answer(const Call&)> act);
  /// Without: all claims are unprepared.
  void onUnprepare(std::function<Answer(const Call&)> act);
  std::vector<Call> calls() const;
  std::vector<Call> prepares() const;
  std::vector<Call> unprepares() const;
  /// True as soon as so many have come, ever; false after 20 s.
  bool awaitPrepares(std::size_t count) const;
  bool awaitUnprepares(std::size_t count) const;

  /// Sends the frame on every open health stream, and first on each to come.
  void show(const std::vector<Health>& devices);
  void endStreams();
  /// When each NodeWatchResources came.
  std::vector<Clock::time_point> streams() const;
  bool awaitStreams(std::size_t count) const;
  std::string authority() const;

  /// What it does of itself.
  static Answer prepared(const Call& call);

private:
  class Server;
  std::unique_ptr<Server> server_;
};

}  // namespace vfiogate::sim
