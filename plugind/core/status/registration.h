#pragma once
// How one resource stands with the kubelet, and what is to be done about it.

#include "ipc/base/backoff.h"
#include "plugind/core/moment.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace vfiogate {

enum class RegistrationState : std::uint8_t {
  kUnwanted,        ///< nobody asked for it yet
  kAttempting,      ///< dials, serves, calls Register: one attempt at a time
  kPausing,         ///< until the next attempt is due
  kAwaitingStream,  ///< the kubelet took it, and ListAndWatch is not open
  kStanding,        ///< its stream is open
};

/// What happened to a registration, for log and metrics. The first four are how an attempt ends.
enum class RegistrationTurn : std::uint8_t {
  kTaken,        ///< the kubelet answered Register
  kRefused,      ///< it answered with an error
  kUnreachable,  ///< it is not there, or said nothing in time
  kNoSocket,     ///< privd is away, or makes no socket for it: no kubelet was asked
  kNoStream,     ///< it took it, and opened no ListAndWatch (kubelet-contract.md T3)
  kStreamEnded,  ///< the newest stream ended unasked
  kNewKubelet,   ///< another kubelet came up: whatever was before is void
};

inline constexpr std::array kRegistrationTurns{
    RegistrationTurn::kTaken,     RegistrationTurn::kRefused,  RegistrationTurn::kUnreachable,
    RegistrationTurn::kNoSocket,  RegistrationTurn::kNoStream, RegistrationTurn::kStreamEnded,
    RegistrationTurn::kNewKubelet};

/// Decides when to register. Never two at once: an attempt ends before another begins, unless
/// another kubelet came up, which knows nothing of the first.
class Registration {
public:
  using Pauses = BackoffRange<std::chrono::milliseconds>;
  struct Step {
    bool attempt = false;  ///< begin one now; drop one that runs
    std::optional<RegistrationTurn> turn;

    friend bool operator==(const Step&, const Step&) = default;
  };

  /// `pauses` after what failed. `knocks` while the kubelet is not there: it may be about to listen
  /// where its socket lies already.
  Registration(Pauses pauses, Pauses knocks) : backoff_(pauses), knocks_(knocks) {}

  /// The resource is to be served from now on.
  Step wanted();
  /// Another kubelet is there than before.
  Step kubeletCame();
  /// What an attempt needs can be had again: privd is back. A pause ends; an attempt that runs is
  /// left alone, as the kubelet may be about to take it.
  Step socketsCame();
  /// The attempt has ended in one of the first four turns. `draw` in [0, 1) spreads the pauses.
  Step attemptEnded(RegistrationTurn how, Instant now, double draw);
  /// ListAndWatch was opened; it may be before Register is answered.
  Step streamOpened();
  /// The newest stream ended, and we did not end it.
  Step streamEnded(Instant now, double draw);
  /// Does what is due. Too early or too often changes nothing.
  Step tick(Instant now, double draw);

  RegistrationState state() const { return state_; }
  std::optional<Instant> due() const { return due_; }

private:
  /// Of ListAndWatch, since the attempt began.
  enum class Stream : std::uint8_t { kNone, kOpen, kEnded };

  Step begin(std::optional<RegistrationTurn> turn = std::nullopt);
  Step pause(RegistrationTurn turn, Instant now, double draw);
  void forgetPauses();

  Backoff<std::chrono::milliseconds> backoff_;
  Backoff<std::chrono::milliseconds> knocks_;
  RegistrationState state_ = RegistrationState::kUnwanted;
  std::optional<Instant> due_;
  Instant takenAt_;
  Stream stream_ = Stream::kNone;
};

/// The kubelet took it, and nothing spoke against that since.
constexpr bool isRegistered(RegistrationState state) {
  return state == RegistrationState::kAwaitingStream || state == RegistrationState::kStanding;
}

/// "attempting", "standing", ...
std::string_view nameOf(RegistrationState state);
/// The label of the metric: "taken", "refused", ...
std::string_view nameOf(RegistrationTurn turn);
/// Where to look for the reason: "kubelet" or "vfiogate"; empty where nothing went wrong.
std::string_view sideOf(RegistrationTurn turn);

}  // namespace vfiogate
