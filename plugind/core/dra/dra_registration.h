#pragma once
// How the DRA driver stands with the kubelet and with the Kubernetes API, for operators, and what
// is to be done about it.

#include "ipc/api/resource_api.h"
#include "ipc/base/backoff.h"
#include "plugind/core/moment.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vfiogate {

enum class DraRegistrationState : std::uint8_t {
  kUnwanted,    ///< nobody asked for it yet
  kAttempting,  ///< has its sockets made
  kPausing,     ///< they could not be had: until the next attempt is due
  kFindable,    ///< they are there, and no kubelet has said anything yet
  kRefused,     ///< the kubelet did not take it, and tries again by itself
  kRegistered,  ///< the kubelet's last word; a new kubelet finds the socket where it lies
};

/// Decides when the sockets are made. The kubelet comes by itself: once they lie there nothing is
/// to be done, however often it restarts (kubelet-contract.md T22, T23).
class DraRegistration {
public:
  using Pauses = BackoffRange<std::chrono::milliseconds>;

  explicit DraRegistration(Pauses pauses) : backoff_(pauses) {}

  // True: begin an attempt now, in place of one that runs.

  /// The driver is to be found from now on.
  [[nodiscard]] bool wanted();
  /// privd is back, and has unlinked what an earlier plugind's registration left: both sockets are
  /// made again.
  [[nodiscard]] bool socketsCame();
  /// Does what is due. Too early or too often changes nothing.
  [[nodiscard]] bool tick(Instant now);

  /// The attempt has ended; `made`: both sockets are there. `draw` in [0, 1) spreads the pauses.
  void attemptEnded(bool made, Instant now, double draw);
  /// The kubelet's word; it may be before the attempt is known to have ended. False: it is about a
  /// socket that is gone.
  bool told(bool registered);

  DraRegistrationState state() const { return state_; }
  std::optional<Instant> due() const { return due_; }

private:
  bool begin();

  Backoff<std::chrono::milliseconds> backoff_;
  DraRegistrationState state_ = DraRegistrationState::kUnwanted;
  std::optional<Instant> due_;
  std::optional<bool> early_;  ///< what the kubelet said while an attempt ran
};

/// "findable", "registered", ...
std::string_view nameOf(DraRegistrationState state);

/// Source: its registrar, the netd that is attached, and the pool that it was told last.
struct DriverStatus {
  std::string driver;
  DraRegistrationState registration = DraRegistrationState::kUnwanted;
  std::string trouble;  ///< why it is not registered, for people; empty: nothing went wrong
  bool apiThere = false;
  std::optional<ResourceApi> resourceApi;  ///< that the API server is spoken to in, once it was
  std::string node;                ///< that netd said it is on; empty: none was attached yet
  std::size_t poolDevices = 0;     ///< published; 0: nothing was yet
  std::size_t taintedDevices = 0;  ///< of these

  friend bool operator==(const DriverStatus&, const DriverStatus&) = default;
};

}  // namespace vfiogate
