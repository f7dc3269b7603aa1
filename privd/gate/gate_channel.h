#pragma once
// The channel to plugind: packets of requests in, packets of answers out.

#include "ipc/gate/packet_socket.h"
#include "privd/gate/gate_service.h"

#include <kj/io.h>

#include <chrono>
#include <optional>
#include <string>

namespace vfiogate {

/// Answers each request before it reads the next one. Never waits: an answer whose descriptor the
/// kernel does not take yet is sent again, each 50 ms, and given up after 2 s.
///
/// Where a call returns a reason, in words, the channel is at its end: hang up by dropping it.
class GateChannel {
public:
  using Clock = std::chrono::steady_clock;
  using Reason = std::optional<std::string>;

  /// Borrows `service`.
  GateChannel(GateService& service, kj::AutoCloseFd socket)
      : service_(service), socket_(kj::mv(socket)), session_(service.newSession()) {}

  /// Becomes readable when there is something for receive(), or plugind hung up.
  int fd() const { return socket_; }

  /// When sendAgain() is due; null: nothing waits to be sent, and receive() may be called.
  std::optional<Clock::time_point> due() const;

  /// Takes one packet, if there is one, and answers it.
  [[nodiscard]] Reason receive(Clock::time_point now);
  [[nodiscard]] Reason sendAgain(Clock::time_point now);
  /// Tells plugind of the files if they are others than it knows, and it has seen what it was told.
  [[nodiscard]] Reason tellFiles();

private:
  struct Waiting {
    GateAnswer answer;
    Clock::time_point since;
    Clock::time_point due;
  };

  Reason serve(const gate::Request& request, Clock::time_point now);
  Reason send(GateAnswer answer, Clock::time_point since, Clock::time_point now);

  GateService& service_;
  kj::AutoCloseFd socket_;
  GateSession session_;
  std::optional<Waiting> waiting_;
  std::optional<gate::WatchedFiles> told_;
};

}  // namespace vfiogate
