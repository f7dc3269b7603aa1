#pragma once
// Hands each who connects a context of the kernel's iommufd, by the protocol of KubeVirt's
// launcher: one byte with the descriptor there, one byte back, both hang up.

#include "privd/iommufd/iommu_context.h"

#include <kj/io.h>

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <optional>

namespace vfiogate {

/// Serves many peers at a time, none of which it believes anything. A peer's descriptor is sent as
/// soon as it has connected; that its reply is awaited costs a connection and no more.
class IommufdServer {
public:
  using Clock = std::chrono::steady_clock;
  using OpenContext = std::function<Result<kj::AutoCloseFd, ContextError>()>;

  /// Connections whose reply is awaited. One more displaces the oldest, which has had the most
  /// time.
  static constexpr std::size_t kMostPeers = 64;
  /// For which a reply is awaited.
  static constexpr std::chrono::seconds kPatience{10};

  /// `listener` does not block; `signals` becomes readable when this process is to end (borrowed).
  IommufdServer(kj::AutoCloseFd listener, int signals, OpenContext open);

  /// Waits until something comes or is due, at most `longest`, and does all that. False: it is to
  /// end.
  [[nodiscard]] bool turn(Clock::duration longest);

  /// Turns until the end.
  void run();

  /// How many connections await a reply.
  std::size_t waiting() const { return peers_.size(); }

private:
  struct Peer {
    kj::AutoCloseFd connection;
    Clock::time_point due;  ///< dropped then
    bool done = false;      ///< it replied, or hung up
  };

  void acceptSome(Clock::time_point now);
  /// Sends who connected its context, or hangs up.
  void serve(kj::AutoCloseFd connection, Clock::time_point now);
  void dropSilent(Clock::time_point now);

  kj::AutoCloseFd listener_;
  int signals_;
  OpenContext open_;
  std::deque<Peer> peers_;        ///< the oldest first
  Clock::time_point leftOutDue_;  ///< to tell of lines of the log
  Clock::time_point acceptDue_;   ///< not before: there was no room for who connected
};

}  // namespace vfiogate
